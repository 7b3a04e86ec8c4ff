"""One Spark session for all tests of this folder: it takes seconds to start."""

import shutil
from collections.abc import Iterator

import pytest

from offline.config import EngineKind, EngineRules

RULES = EngineRules(kind=EngineKind.SPARK, master="local[2,4]")


@pytest.fixture(scope="session")
def spark() -> Iterator[EngineRules]:
    """Rules of an engine whose session runs, with few partitions."""
    pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    if shutil.which("java") is None:
        pytest.skip("no Java at hand")
    from offline.spark.session import open_session

    session = open_session(RULES)
    session.conf.set("spark.sql.shuffle.partitions", "3")
    yield RULES
    session.stop()
