"""The OpenAPI document says what the service does; schemathesis holds the service to it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

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


def test_the_example_of_the_document_is_a_valid_request(served: Served) -> None:
    body = document(served)["paths"]["/recommend"]["post"]["requestBody"]["content"]["application/json"]
    RecommendRequest.model_validate_json(json.dumps(body["example"]))


def test_docs_work_without_other_hosts(served: Served) -> None:
    page = httpx.get(f"{served.url}/docs")
    assert page.status_code == 200
    assert "https://" not in page.text
    for asset in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert f"/docs/assets/{asset}" in page.text
        assert httpx.get(f"{served.url}/docs/assets/{asset}").status_code == 200


def test_schemathesis_finds_no_5xx_and_no_undocumented_answer(served: Served, tmp_path: Path) -> None:
    schemathesis = Path(sys.executable).with_name("schemathesis")
    if not schemathesis.exists():
        pytest.skip("schemathesis is not installed")
    command = [str(schemathesis), "run", f"{served.url}/openapi.json", "--max-examples", "10", "--seed", "1"]
    command += ["--phases", "examples,coverage,fuzzing", "--no-color", "--include-path-regex", PATHS]
    command += ["--checks", "all", "--exclude-checks", ",".join(NOT_OURS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout[-6000:]


PATHS = r"^(/v1)?/(recommend.*|items(/\{item_id\}(/neighbours)?)?|healthz|readyz)$"
NOT_OURS = (
    "positive_data_acceptance",  # a 404 for an id that is not in the catalogue is right
)
