"""What needs Redis, keys or both, held to the OpenAPI document by schemathesis against a running service."""

import subprocess
import sys
from pathlib import Path

from .test_supervisor import answers, serving, wait

ADMIN_KEY = "admin-key-0123456789"
READER = '[{"key": "reader-key-0123456789", "scopes": ["read"]}]'
PATHS = r"^/(events|experiments|metrics|users/.*|items/(\{item_id\}/)?availability|admin/.*)$"
NOT_OURS = (
    "positive_data_acceptance",  # an experiment that conflicts with another, or an item that is not there, is refused
)
SECONDS = 240


def test_schemathesis_finds_no_5xx_and_no_undocumented_answer(root: Path, tmp_path: Path) -> None:
    schemathesis = Path(sys.executable).with_name("schemathesis")
    with serving(root, admin_key=ADMIN_KEY, api_keys=READER) as server:
        wait(lambda: answers(server.url))
        command = [str(schemathesis), "run", f"{server.url}/openapi.json", "--max-examples", "10", "--seed", "1"]
        command += ["--phases", "examples,coverage,fuzzing", "--no-color", "--include-path-regex", PATHS]
        command += ["--checks", "all", "--exclude-checks", ",".join(NOT_OURS), "-H", f"X-API-Key: {ADMIN_KEY}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
