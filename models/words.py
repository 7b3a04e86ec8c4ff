"""The closed vocabularies that offline, service and callers share."""

from enum import StrEnum


class RetrieverName(StrEnum):
    """Every retriever that a bundle can serve."""

    TGH_1 = "tgh-1"
    TGH_2 = "tgh-2"
    DR = "dr"
    DR_PRIOR = "dr-prior"
    GR = "gr"
    FUSED = "fused"
    SEM_NN = "sem-nn"
    ID_LAST = "id-last"
    ID_SEM = "id+sem"
    POPULAR = "popular"


class Source(StrEnum):
    """Why an item is in a list."""

    HOP1 = "hop1"
    HOP2 = "hop2"
    HOP3 = "hop3"
    DR = "dr"
    GR = "gr"
    TEXT = "text"
    ID = "id"
    FUSED = "fused"
    POPULAR = "popular"
    BACKFILL = "backfill"


SOURCES: tuple[Source, ...] = tuple(Source)
"""Candidates carry a source as its position in this tuple (uint8)."""

SOURCE_CODE: dict[Source, int] = {source: code for code, source in enumerate(SOURCES)}


class FallbackReason(StrEnum):
    """Why another retriever than the assigned one answered."""

    DEADLINE = "deadline"
    FULL = "full"
    WORKER = "worker"
    REDIS = "redis"
    BUNDLE = "bundle"
    NO_HISTORY = "no_history"


class Order(StrEnum):
    """Order of a TGH list: the paper's (by score) or its published code's (by ring)."""

    SCORE = "score"
    RING = "ring"


class Split(StrEnum):
    """How interactions were divided before anything was learnt from them."""

    NONE = "none"
    LEAVE_LAST_OUT = "leave-last-out"
