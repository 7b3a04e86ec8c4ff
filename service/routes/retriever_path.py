"""The retriever that a path names."""

from http import HTTPStatus

from starlette.types import Scope

from models.words import RetrieverName
from service.problems import FieldError, ProblemError, ProblemKind


def retriever_of(scope: Scope) -> RetrieverName | None:
    """The retriever in the path; None where the path has no place for one.

    Raises:
        ProblemError: 404, there is no such retriever.
    """
    params = scope.get("path_params")
    named = params.get("retriever") if params else None
    if named is None:
        return None
    try:
        return RetrieverName(named)
    except ValueError:
        known = ", ".join(RetrieverName)
        raise ProblemError(
            HTTPStatus.NOT_FOUND,
            ProblemKind.UNKNOWN_RETRIEVER,
            f"There is no such retriever; there are {known}.",
            errors=[FieldError(f"should be one of {known}", parameter="retriever")],
        ) from None
