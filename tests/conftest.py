"""Bundles that many tests read; built once a session."""

import pytest
from hypothesis import HealthCheck, settings

from models.bundle.reader import Bundle
from tests import shop

settings.register_profile(
    "shortlist", deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("shortlist")


@pytest.fixture(scope="session")
def plain_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Ten items whose right lists can be read off: see `tests.shop.plain_shop`."""
    return shop.build(tmp_path_factory.mktemp("plain"), shop.plain_shop())


@pytest.fixture(scope="session")
def one_item_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A catalogue of one item."""
    return shop.build(tmp_path_factory.mktemp("one"), shop.one_item_shop())


@pytest.fixture(scope="session")
def twin_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Items that only their index tells apart."""
    return shop.build(tmp_path_factory.mktemp("twins"), shop.twin_shop())


@pytest.fixture(scope="session")
def odd_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A random catalogue full of ties, blanks and hubs."""
    return shop.build(tmp_path_factory.mktemp("odd"), shop.odd_shop(1))
