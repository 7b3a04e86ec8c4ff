"""The shops of the contract suite, with what every retriever needs: an untrained network and random item factors."""

import pytest

from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from tests import shop
from tests.neural_shop import add_neural


def _trained(writer: BundleWriter, one: shop.Shop) -> None:
    add_neural(writer, one.embeddings, one.popularity)


@pytest.fixture(scope="session")
def one_item_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A catalogue of one item."""
    return shop.build(tmp_path_factory.mktemp("one-trained"), shop.one_item_shop(), _trained)


@pytest.fixture(scope="session")
def twin_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Items that only their index tells apart."""
    return shop.build(tmp_path_factory.mktemp("twins-trained"), shop.twin_shop(), _trained)


@pytest.fixture(scope="session")
def odd_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A random catalogue full of ties, blanks and hubs."""
    return shop.build(tmp_path_factory.mktemp("odd-trained"), shop.odd_shop(1), _trained)
