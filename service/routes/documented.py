"""The answers that routes share, for the OpenAPI document."""

from typing import Any

from service.answers import Problem
from service.problems import MEDIA_TYPE

MEANINGS: dict[int, str] = {
    400: "Not JSON, or not decodable.",
    401: "No key, or an unknown one.",
    403: "The key may not do this.",
    404: "No such item, retriever or path.",
    405: "The path does not know the method.",
    408: "The body did not arrive in time.",
    409: "It contradicts what is there; `detail` says what to do.",
    413: "The body is too large.",
    415: "The body is not `application/json`.",
    422: "A field is not valid; `errors` points at it.",
    429: "Too many requests; `Retry-After` says when to come back.",
    503: "Nobody can answer now; `Retry-After` says when to come back.",
}

Answers = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Answers:
    """Documentation of problem answers."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": MEANINGS[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses
    }


PROBLEM_SCHEMA = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
