"""The OpenAPI document says what the service does; schemathesis holds the service to it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from service.schemas import RecommendRequest
from tests.service.api.conftest import Served

SECONDS = 240


def document(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{served.url}/openapi.json").json()
    return found


def test_every_path_of_the_contract_is_documented(served: Served) -> None:
    paths = document(served)["paths"]
    for path in ("/recommend", "/v1/recommend", "/recommend/{retriever}"):
        assert set(paths[path]) == {"post"}
    for path in ("/items", "/items/{item_id}", "/items/{item_id}/neighbours", "/healthz", "/readyz"):
        assert "get" in paths[path]


def test_every_operation_has_an_id_of_its_own_a_summary_and_described_fields(served: Served) -> None:
    found = document(served)
    operations = [operation for path in found["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(ids) == len(set(ids))
    assert all(operation["summary"] for operation in operations)
    fields = found["components"]["schemas"]["RecommendRequest"]["properties"]
    assert set(fields) == set(RecommendRequest.model_fields)
    assert all(field["description"] for field in fields.values())


def test_references_of_the_document_lead_somewhere(served: Served) -> None:
    found = document(served)

    def references(node: Any) -> list[str]:
        if isinstance(node, dict):
            own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
            return own + [one for value in node.values() for one in references(value)]
        return [one for value in node for one in references(value)] if isinstance(node, list) else []

    names = {reference.removeprefix("#/components/schemas/") for reference in references(found)}
    assert names <= set(found["components"]["schemas"])


def shown(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body of a request or an answer: where, and its schema and example."""
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            bodies = {"request": operation.get("requestBody", {})} | operation["responses"]
            for which, body in bodies.items():
                for media_type, content in body.get("content", {}).items():
                    yield f"{method} {path} {which} {media_type}", content


def test_every_request_and_answer_has_an_example_that_fits_its_schema(served: Served) -> None:
    found = document(served)
    registry = Registry().with_resource("urn:api", Resource(contents=found, specification=DRAFT202012))
    bodies = [(where, content) for where, content in shown(found) if content.get("schema")]
    assert len(bodies) > 100
    for where, content in bodies:
        schema = json.loads(json.dumps(content["schema"]).replace("#/components", "urn:api#/components"))
        checker = Draft202012Validator(schema, registry=registry, format_checker=FormatChecker())
        assert "example" in content, where
        assert [error.message for error in checker.iter_errors(content["example"])] == [], where


def test_every_operation_parameter_and_tag_is_described(served: Served) -> None:
    found = document(served)
    tags = {tag["name"] for tag in found["tags"] if tag["description"]}
    for path, operations in found["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            assert set(operation["tags"]) <= tags
            for parameter in operation.get("parameters", ()):
                assert parameter["description"], (path, parameter["name"])


def test_every_field_of_an_answer_is_described(served: Served) -> None:
    schemas = document(served)["components"]["schemas"]
    answers = {
        name: schema for name, schema in schemas.items() if name.endswith(("Answer", "Response", "Page", "Problem"))
    }
    assert len(answers) > 12
    for name, schema in answers.items():
        for field, about in schema["properties"].items():
            assert about.get("description") or "$ref" in about, f"{name}.{field}"


def test_docs_work_without_other_hosts(served: Served) -> None:
    page = httpx.get(f"{served.url}/docs")
    assert page.status_code == 200
    assert "https://" not in page.text
    for asset in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert f"/docs/assets/{asset}" in page.text
        assert httpx.get(f"{served.url}/docs/assets/{asset}").status_code == 200


def test_schemathesis_finds_no_5xx_and_no_undocumented_answer(served: Served, tmp_path: Path) -> None:
    schemathesis = Path(sys.executable).with_name("schemathesis")
    command = [str(schemathesis), "run", f"{served.url}/openapi.json", "--max-examples", "10", "--seed", "1"]
    command += ["--phases", "examples,coverage,fuzzing", "--no-color", "--include-path-regex", PATHS]
    command += ["--checks", "all", "--exclude-checks", ",".join(NOT_OURS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout[-6000:]


PATHS = r"^(/v1)?/(recommend.*|items(/\{item_id\}(/neighbours)?)?|healthz|readyz)$"
NOT_OURS = (
    "positive_data_acceptance",  # a 404 for an id that is not in the catalogue is right
)
