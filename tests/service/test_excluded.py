"""A list of exclusions read from a body's bytes is the one that the parser reads, and faults are told as the parser
tells them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ids import Cut
from service.body import parse
from service.excluded import LONG_BODY, read_asked, take_exclusions
from service.problems import ProblemError
from service.schemas import MAX_EXCLUDED, MAX_ID_BYTES, RecommendRequest

LONG = [f"item-{n:04d}" for n in range(LONG_BODY)]
LONG_TEXT = json.dumps(LONG)

ids = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["exclude", '"exclude"', "]", "[", ",", "é", "🧴", '\\"', "a" * 257]
)
texts = st.text(max_size=9) | ids
values = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=3)
members = st.fixed_dictionaries(
    {},
    optional={
        "user_id": ids,
        "history": st.lists(ids, max_size=4),
        "k": st.integers(-1, 600),
        "exclude_seen": st.booleans(),
        "filter": st.fixed_dictionaries({}, optional={"brand": st.lists(ids, max_size=2), "exclude": st.just(LONG)}),
        "exclud": values,
        'a"exclude': st.just(LONG),
    },
)
lists = st.lists(ids, max_size=9).map(lambda some: LONG + some) | st.lists(values, max_size=9).map(
    lambda some: LONG + some
)


def strings(cut: Cut) -> list[str]:
    text = bytes(cut.text)
    return [text[begin:end].decode() for begin, end in zip(cut.begins, cut.ends, strict=True)]


def by_parser(body: bytes) -> dict[str, Any] | tuple[Any, ...]:
    """What the parser makes of a body: the request, or the problem."""
    try:
        return parse(RecommendRequest, body).model_dump()
    except ProblemError as problem:
        return problem.kind, problem.detail, problem.errors


def as_read(body: bytes) -> dict[str, Any] | tuple[Any, ...]:
    """Likewise, with the list read apart where that is done."""
    try:
        request, excluded = read_asked(body)
    except ProblemError as problem:
        return problem.kind, problem.detail, problem.errors
    assert excluded is None or not request.exclude
    return request.model_dump() | ({} if excluded is None else {"exclude": strings(excluded)})


@given(
    before=members, excluded=lists, behind=members, ascii_only=st.booleans(), indent=st.sampled_from([None, 1, "\t"])
)
def test_a_body_says_what_the_parser_reads(
    before: dict[str, Any], excluded: list[Any], behind: dict[str, Any], ascii_only: bool, indent: int | str | None
) -> None:
    one = json.dumps(before | {"exclude": excluded}, ensure_ascii=ascii_only, indent=indent)
    two = json.dumps(behind, ensure_ascii=ascii_only, indent=indent)
    joined = one[:-1] + "," + two[1:] if behind else one
    for text in (one, joined):
        body = text.encode("utf-8", "surrogatepass")
        assert as_read(body) == by_parser(body)


@given(data=st.data())
def test_a_body_that_was_damaged_says_what_the_parser_reads(data: st.DataObject) -> None:
    body = bytearray(f'{{"k": 5, "exclude" : [ "a" ,\n"b" , {LONG_TEXT[1:-1]} ] , "user_id": "u"}}'.encode())
    edges = [*range(40), *range(len(body) - 40, len(body))]
    place = data.draw(st.sampled_from(edges) | st.integers(0, len(body) - 1))
    body[place : place + data.draw(st.integers(0, 2))] = data.draw(
        st.sampled_from([*b'"[],:{}\\ \n\x00\x7f\xff\xc3a'])
    ).to_bytes()
    assert as_read(bytes(body)) == by_parser(bytes(body))


@pytest.mark.parametrize(
    "body",
    [
        f'{{"exclude":{LONG_TEXT},"exclude":["a"]}}',
        f'{{"exclude":["a"],"exclude":{LONG_TEXT}}}',
        f'{{"exclude":{LONG_TEXT},"\\u0065xclude":["a"]}}',
        f'{{"exclude":[{LONG_TEXT}]}}',
        f'{{"exclude":{LONG_TEXT}',
        f'{{"exclude":{LONG_TEXT[:-1]}',
        f'{{"exclude":{LONG_TEXT[:-2]}',
        f'{{"exclude":{LONG_TEXT[:-1]},]}}',
        f'{{"exclude":{LONG_TEXT[:-1]},""]}}',
        f'{{"exclude":{LONG_TEXT},"k":NaN}}',
        f'{{"exclude":{LONG_TEXT},"k":0}}',
        f'{{"exclude" {LONG_TEXT}}}',
        f'["exclude",{LONG_TEXT}]',
        f'[{{"exclude":{LONG_TEXT}}}]',
        f'"exclude":{LONG_TEXT}',
        '{"exclude":[]}' + " " * LONG_BODY,
        " " * LONG_BODY + '{"k":5,"exclude"',
        " " * LONG_BODY + '{"k":5,"exclude":',
        json.dumps({"exclude": ["a"] * (MAX_EXCLUDED + 1)}),
        json.dumps({"exclude": [*LONG, "é" * (MAX_ID_BYTES // 2)]}, ensure_ascii=False),
        json.dumps({"exclude": [*LONG, "é" * (MAX_ID_BYTES // 2) + "a"]}, ensure_ascii=False),
    ],
)
def test_an_odd_body_says_what_the_parser_reads(body: str) -> None:
    assert as_read(body.encode()) == by_parser(body.encode())


@pytest.mark.parametrize("excluded", [LONG, [*LONG, "é", "🧴"], ["a"] * MAX_EXCLUDED, [*LONG, "a" * MAX_ID_BYTES]])
def test_a_plain_list_is_read_apart(excluded: list[str]) -> None:
    body = json.dumps({"user_id": "u", "exclude": excluded, "k": 5}, ensure_ascii=False).encode()
    taken = take_exclusions(body)
    assert taken is not None
    assert taken.rest == b'{"user_id": "u", "exclude": [], "k": 5}'
    assert strings(taken.ids) == excluded
