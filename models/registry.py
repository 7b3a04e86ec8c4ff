"""From a retriever's name to the retriever, importing only the module that is asked for."""

from collections.abc import Iterable
from importlib import import_module

from models.bundle import layout
from models.bundle.reader import Bundle
from models.errors import MissingArtifactError
from models.retrieval import Retriever
from models.words import RetrieverName

MODULES: dict[RetrieverName, str] = {
    RetrieverName.TGH_1: "models.retrievers.tgh",
    RetrieverName.TGH_2: "models.retrievers.tgh",
    RetrieverName.DR: "models.retrievers.dr",
    RetrieverName.DR_PRIOR: "models.retrievers.dr_prior",
    RetrieverName.GR: "models.retrievers.gr",
    RetrieverName.FUSED: "models.retrievers.fused",
    RetrieverName.SEM_NN: "models.retrievers.sem_nn",
    RetrieverName.ID_LAST: "models.retrievers.id_last",
    RetrieverName.ID_SEM: "models.retrievers.id_sem",
    RetrieverName.POPULAR: "models.retrievers.popular",
}
"""Each module states `REQUIRES` (layout names) and `open(bundle, name)`; heavy libraries are imported in the latter."""

TRAINED = {layout.QUERY_ENCODER, layout.ITEM_VECTORS, layout.INDEX, layout.GENERATOR, layout.CODES}
"""Artifacts that training writes, among others; the rest come from jobs."""


def missing(bundle: Bundle, name: RetrieverName) -> tuple[str, ...]:
    """Artifacts that a retriever needs and the bundle lacks."""
    required: tuple[str, ...] = import_module(MODULES[name]).REQUIRES
    return tuple(part for part in required if not bundle.has(part))


def available(bundle: Bundle) -> tuple[RetrieverName, ...]:
    """The retrievers whose artifacts the bundle holds."""
    return tuple(name for name in RetrieverName if not missing(bundle, name))


def require(bundle: Bundle, names: Iterable[RetrieverName]) -> None:
    """Make sure that the bundle can serve retrievers.

    Raises:
        MissingArtifactError: it lacks an artifact that one of them needs.
    """
    for name in names:
        lacking = missing(bundle, name)
        if lacking:
            raise MissingArtifactError(
                f"bundle {bundle.version}",
                found=f"no {', '.join(lacking)}",
                expected=f"the artifacts of {name}",
                remedy="Train: shortlist train."
                if TRAINED.intersection(lacking)
                else "Run the jobs that write them: shortlist job --help.",
            )


def open_retriever(bundle: Bundle, name: RetrieverName) -> Retriever:
    """A retriever over a bundle, warm: its kernels are compiled.

    Raises:
        MissingArtifactError: the bundle lacks an artifact that it needs.
    """
    require(bundle, [name])
    retriever: Retriever = import_module(MODULES[name]).open(bundle, name)
    return retriever
