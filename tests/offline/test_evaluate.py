"""Evaluation against lists that a reader can work out from the shop's four users."""

from pathlib import Path

import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.errors import BundleError, ConfigError, InputError
from models.registry import open_retriever
from models.retrieval import Query
from models.words import Order, RetrieverName
from offline.build import Request, build
from offline.evaluate import Settings, TargetUsers, evaluate, list_lengths, read_target_users
from offline.progress import Reporter
from offline.split import Part
from tests.offline.shop import config, inputs

QUIET = Reporter(quiet=True)
NAMES = [RetrieverName.TGH_1, RetrieverName.TGH_2, RetrieverName.SEM_NN, RetrieverName.POPULAR]


@pytest.fixture(scope="module")
def split_shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Path]:
    folder = tmp_path_factory.mktemp("split")
    build(Request(folder / "b", config(split="leave-last-out"), inputs(folder)), QUIET)
    return Bundle.open(folder / "b"), folder / "interactions.csv"


@pytest.fixture(scope="module")
def target_users(split_shop: tuple[Bundle, Path]) -> TargetUsers:
    bundle, path = split_shop
    return read_target_users(bundle, [path], Part.TEST, QUIET)


def test_users_and_targets_come_from_the_split_of_the_bundle(
    split_shop: tuple[Bundle, Path], target_users: TargetUsers
) -> None:
    ids = split_shop[0].ids

    assert target_users.user_ids() == ["ann", "bob", "cid"]
    assert ids.strings(target_users.targets) == ["butter", "tea", "jam"]
    assert ids.strings(target_users.history(0)) == ["bread", "butter", "jam", "tea"]


def test_popular_lists_are_measured(split_shop: tuple[Bundle, Path], target_users: TargetUsers) -> None:
    """Training counts: bread 4, butter 2, then jam, soap and tea 1 each. Targets rank 2, 5 and 3 in that list."""
    settings = Settings(exclude_seen=False)

    found = evaluate(split_shop[0], target_users, [RetrieverName.POPULAR], [1, 2, 3, 5], settings, QUIET)

    measures = found.measures[RetrieverName.POPULAR]
    assert [measures[f"recall@{k}"] for k in (1, 2, 3, 5)] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert measures["ndcg@5"] == pytest.approx((1 / np.log2(3) + 1 / np.log2(6) + 1 / np.log2(4)) / 3)


def test_seen_items_are_left_out_unless_included(split_shop: tuple[Bundle, Path], target_users: TargetUsers) -> None:
    bundle, _ = split_shop
    for name in NAMES:
        lists = evaluate(bundle, target_users, [name], [5], Settings(), QUIET).longest[name].items
        for row in range(len(target_users)):
            assert not set(lists[row][lists[row] >= 0]) & set(target_users.history(row).tolist())
    included = evaluate(bundle, target_users, [RetrieverName.POPULAR], [5], Settings(exclude_seen=False), QUIET)
    assert (included.longest[RetrieverName.POPULAR].items[:, :5] >= 0).all()


def test_lists_are_filled_unless_told_otherwise(split_shop: tuple[Bundle, Path], target_users: TargetUsers) -> None:
    bundle, _ = split_shop
    name = RetrieverName.TGH_1
    filled = evaluate(bundle, target_users, [name], [5], Settings(exclude_seen=False), QUIET).longest[name].items
    short = evaluate(bundle, target_users, [name], [5], Settings(exclude_seen=False, fill=False), QUIET).longest[name]

    assert ((filled >= 0).sum(1) >= 4).all()
    assert ((short.items >= 0).sum(1) < (filled >= 0).sum(1)).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", list(Order))
def test_evaluation_sees_what_serving_returns(
    split_shop: tuple[Bundle, Path], target_users: TargetUsers, name: RetrieverName, order: Order
) -> None:
    from models.filters import eligible

    bundle, _ = split_shop
    lists = evaluate(bundle, target_users, [name], [5], Settings(order=order), QUIET).longest[name]
    retriever = open_retriever(bundle, name)
    for row in range(len(target_users)):
        history = target_users.history(row)
        served = retriever.retrieve(Query(history, 10, eligible(bundle.n_items, None, history), order))
        assert lists.items[row][lists.items[row] >= 0].tolist() == served.items.tolist()
        assert lists.scores[row, : len(served.items)].tolist() == served.scores.tolist()


def test_small_k_cut_one_list_and_large_k_ask_their_own() -> None:
    assert list_lengths([50, 1, 10, 100, 5]) == {10: [1, 5, 10], 50: [50], 100: [100]}
    assert list_lengths([3]) == {10: [3]}


def test_a_bundle_without_a_split_is_refused(tmp_path: Path) -> None:
    files = inputs(tmp_path)
    build(Request(tmp_path / "b", config(), files), QUIET)

    with pytest.raises(BundleError, match="--split leave-last-out"):
        read_target_users(Bundle.open(tmp_path / "b"), files.interactions, Part.TEST, QUIET)


def test_truncation_is_read_from_the_bundle(tmp_path: Path) -> None:
    files = inputs(tmp_path)
    build(Request(tmp_path / "b", config(split="leave-last-out", truncate_history=3), files), QUIET)
    bundle = Bundle.open(tmp_path / "b")

    users = read_target_users(bundle, files.interactions, Part.TEST, QUIET)

    assert bundle.ids.strings(users.history(0)) == ["jam", "tea"]


def test_users_without_a_target_are_an_error(split_shop: tuple[Bundle, Path], tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("user_id,item_id,timestamp\nu,bread,1\nu,jam,2\n")

    with pytest.raises(InputError, match="1 users, none with three interactions"):
        read_target_users(split_shop[0], [tmp_path / "i.csv"], Part.TEST, QUIET)


def test_k_must_be_positive(split_shop: tuple[Bundle, Path], target_users: TargetUsers) -> None:
    with pytest.raises(ConfigError, match="whole numbers from 1"):
        evaluate(split_shop[0], target_users, NAMES, [0], Settings(), QUIET)


def test_a_deeper_list_is_kept_beside_those_of_the_cut_offs(
    split_shop: tuple[Bundle, Path], target_users: TargetUsers
) -> None:
    names, deeper = [RetrieverName.TGH_1, RetrieverName.POPULAR], {RetrieverName.POPULAR: 12}
    plain = evaluate(split_shop[0], target_users, names, [1, 10], Settings(), QUIET)
    found = evaluate(split_shop[0], target_users, names, [1, 10], Settings(), QUIET, deeper=deeper)

    assert found.measures == plain.measures
    assert [list(found.items[name]) for name in names] == [[10], [10, 12]]
    assert found.longest["popular"].items.shape == (len(target_users), 10)
    assert found.items["popular"][12].shape == (len(target_users), 12)
