"""The OpenAPI document: the framework's, and the paths that answer past the framework."""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from models.words import RetrieverName
from service.access import needed
from service.answers import Problem, RecommendResponse
from service.examples import add_examples
from service.experiments.model import Experiment
from service.live.schemas import AvailabilityBody, EventBatch, EventBody, FlipsBody
from service.routes.documented import problems
from service.schemas import RecommendRequest

REF = "#/components/schemas/{model}"
RECOMMEND_STATUSES = (400, 408, 413, 415, 422, 429, 503)
BODIES: tuple[type[BaseModel], ...] = (
    RecommendRequest,
    EventBody,
    EventBatch,
    AvailabilityBody,
    FlipsBody,
    Experiment,
)
"""Bodies that are read past the framework."""
TAGS = {
    "recommend": "Candidates for a user or a history, and the experiments that decide who answers.",
    "events": "What users did: it becomes their history.",
    "users": "Stored histories.",
    "items": "The catalogue, its transition graph, and stock.",
    "health": "Probes.",
    "operation": "Metrics.",
    "admin": "Bundles and experiments; only with the admin key.",
}
SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
RETRIEVER_PARAMETER = {
    "name": "retriever",
    "in": "path",
    "required": True,
    "description": "Who should answer.",
    "schema": {"type": "string", "enum": [name.value for name in RetrieverName]},
}
HEADERS = {
    "X-Request-ID": {"description": "The caller's, or a fresh one.", "schema": {"type": "string"}},
    "Server-Timing": {"description": "Milliseconds by stage.", "schema": {"type": "string"}},
}


def _operation(operation_id: str, *, fixed: bool) -> dict[str, Any]:
    statuses = sorted((*RECOMMEND_STATUSES, 404)) if fixed else RECOMMEND_STATUSES
    answer = {"$ref": REF.format(model="RecommendResponse")}
    answers: dict[str, Any] = {
        "200": {
            "description": "A ranked list.",
            "headers": HEADERS,
            "content": {"application/json": {"schema": answer}},
        }
    }
    answers |= {str(status): about for status, about in problems(*statuses).items()}
    body = {"schema": {"$ref": REF.format(model="RecommendRequest")}}
    return {
        "tags": ["recommend"],
        "summary": "Candidates from one retriever" if fixed else "Candidates for a user or a history",
        "description": "Every field is optional. A member named twice counts with its last value.",
        "operationId": operation_id,
        "parameters": [dict(RETRIEVER_PARAMETER)] if fixed else [],
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": answers,
    }


def _recommend_paths() -> dict[str, Any]:
    return {
        "/recommend": {"post": _operation("recommend", fixed=False)},
        "/recommend/{retriever}": {"post": _operation("recommendFrom", fixed=True)},
        "/v1/recommend": {"post": _operation("recommendV1", fixed=False)},
        "/v1/recommend/{retriever}": {"post": _operation("recommendFromV1", fixed=True)},
    }


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the paths, models and answers that the framework does not know of."""
    modes = [(model, "validation") for model in BODIES]
    modes += [(RecommendResponse, "serialization"), (Problem, "serialization")]
    _, schemas = models_json_schema(modes, ref_template=REF)  # type: ignore[arg-type]
    known = document.setdefault("components", {}).setdefault("schemas", {})
    document["components"]["schemas"] = dict(sorted((known | schemas["$defs"]).items()))
    document["paths"] = {**_recommend_paths(), **document["paths"]}
    _finish(document["paths"])
    document["components"]["securitySchemes"] = SECURITY
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    return document


def _finish(paths: dict[str, Any]) -> None:
    """Say what a key is asked for, as `service.access` asks it, and show examples."""
    for path, operations in paths.items():
        for method, operation in operations.items():
            if (scope := needed(method.upper(), path)) is not None:
                operation["responses"] = operation["responses"] | {str(k): v for k, v in problems(401, 403).items()}
                operation["security"] = [{}, *({name: [scope.value]} for name in SECURITY)]
            add_examples(operation)


def document_app(app: FastAPI) -> None:
    """Make `/openapi.json` complete."""
    framework = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = complete(framework())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
