"""`shortlist recommend`: one list, without a server."""

from typing import Annotated, Any

import numpy as np
import orjson
import typer

from models.bundle import layout
from models.bundle.reader import Bundle
from models.filters import eligible
from models.registry import open_retriever
from models.retrieval import NO_ITEMS, Candidates, Query
from models.words import Order, RetrieverName
from offline.commands import options

History = Annotated[str, typer.Option("--history", help="Item ids, oldest first, between commas.")]
Name = Annotated[RetrieverName, typer.Option("--retriever")]
K = Annotated[int, typer.Option("--k", min=1, max=500)]
OrderOption = Annotated[Order, typer.Option("--order", help="Order of a TGH list.")]
ExcludeSeen = Annotated[bool, typer.Option("--exclude-seen/--include-seen")]


def _titles(bundle: Bundle, found: Candidates) -> list[str]:
    if not bundle.has(layout.ITEMS):
        return [""] * len(found.items)
    return [title or "" for title in bundle.table(layout.ITEMS)["title"].take(found.items).to_pylist()]


def _rows(bundle: Bundle, found: Candidates) -> list[dict[str, Any]]:
    columns = bundle.ids.strings(found.items), found.scores.tolist(), found.source_names(), _titles(bundle, found)
    return [
        {"item_id": item_id, "rank": rank, "score": score, "source": source.value, "title": title}
        for rank, (item_id, score, source, title) in enumerate(zip(*columns, strict=True), 1)
    ]


def recommend_command(
    bundle: options.BundleDir,
    history: History = "",
    retriever: Name = RetrieverName.TGH_2,
    k: K = 10,
    order: OrderOption = Order.SCORE,
    exclude_seen: ExcludeSeen = True,
    as_json: options.AsJson = False,
) -> None:
    """Ask one retriever of a bundle, as the service would."""
    opened = Bundle.open(bundle, verify="sizes")
    names = options.split_list(history, "--history")
    place = opened.ids.indices(names)
    unknown = [name for name, index in zip(names, place, strict=True) if index < 0]
    known = place[place >= 0]
    stock = np.asarray(opened.array(layout.AVAILABLE)) if opened.has(layout.AVAILABLE) else None
    allowed = eligible(opened.n_items, stock, known if exclude_seen else NO_ITEMS)
    found = open_retriever(opened, retriever).retrieve(Query(known, k, allowed, order))
    _print(_rows(opened, found), unknown, as_json=as_json)


def _print(rows: list[dict[str, Any]], unknown: list[str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps({"items": rows, "unknown_items": unknown}, option=orjson.OPT_INDENT_2).decode())
        return
    if unknown:
        typer.echo(f"unknown items: {', '.join(unknown)}", err=True)
    for row in rows:
        typer.echo(f"{row['rank']:>3}  {row['score']:.4f}  {row['source']:<8}  {row['item_id']}  {row['title']}")
