"""A small bundle to serve."""

from pathlib import Path

import pytest

from tests.service.api.conftest import build_small


@pytest.fixture(scope="session")
def small_bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with one version; never written to."""
    root = tmp_path_factory.mktemp("loadtest")
    build_small(root / "data", root / "bundles")
    return root / "bundles"
