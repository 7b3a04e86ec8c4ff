"""`shortlist bench`: how long a request takes, part by part."""

import json
import time
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated

import typer

from models.bundle.reader import Bundle
from models.registry import available, open_retriever
from models.retrieval import Candidates, Query, Retriever
from models.words import RetrieverName
from offline.bench.constraint import Shape
from offline.bench.queries import queries
from offline.bench.timing import timed
from offline.commands import options

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Time what answers a request.")

Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Calls that are timed.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Of torch; NumPy has OPENBLAS_NUM_THREADS.")]


@app.command()
def constraint(
    items: Annotated[int, typer.Option("--items", min=1)] = Shape().items,
    codebook: Annotated[int, typer.Option("--codebook", min=2)] = Shape().codebook,
    beam: Annotated[int, typer.Option("--beam", min=1)] = Shape().beam,
    rounds: Rounds = 200,
) -> None:
    """The constraint of beam search alone, on a random trie of four levels; one thread."""
    from offline.bench.constraint import bench

    shape = Shape(items=items, codebook=codebook, beam=beam)
    typer.echo(f"constraint, {items:,} items: {bench(shape, rounds, typer.echo)}")


@app.command()
def gr(
    bundle: options.BundleDir,
    threads: Threads = 2,
    k: Annotated[int, typer.Option("--k", min=1)] = 50,
    rounds: Rounds = 100,
    transformers_rounds: Annotated[int, typer.Option("--transformers-rounds", min=0, help="0 = leave out.")] = 5,
) -> None:
    """One generated list, the constraint's share, and `transformers` on the same shapes."""
    import torch

    from models.neural.generator import Generator
    from offline.bench import decode

    torch.set_num_threads(threads)
    opened = Bundle.open(bundle)
    generator = Generator(opened)
    asked = queries(opened, count=32, history=10, k=k)
    mine = decode.ours(generator, asked, rounds)
    typer.echo(f"gr, {opened.n_items:,} items, k {k}: {mine}")
    for batch in (1, len(asked)):
        share = decode.constraint_share(generator, asked, max(1, rounds // batch), batch)
        typer.echo(f"constraint: {share:.2%} of a batch of {batch}")
    if transformers_rounds:
        theirs = decode.transformers_generate(generator, asked, max(50, k), transformers_rounds)
        ratio = theirs.median_ms / mine.median_ms
        typer.echo(f"transformers generate, same shapes: {theirs}; {ratio:.1f} times as long")


@app.command()
def dr(bundle: options.BundleDir, rounds: Rounds = 500) -> None:
    """Query encoding, search and re-ranking of `dr-prior`, one thread."""
    opened = Bundle.open(bundle)
    asked = queries(opened, count=64, history=10, k=50)
    for name in (RetrieverName.DR, RetrieverName.DR_PRIOR, RetrieverName.FUSED):
        retriever = open_retriever(opened, name)
        timing = timed(partial(_ask, retriever, asked), rounds=rounds)
        typer.echo(f"{name}, {opened.n_items:,} items: {timing}")


@app.command()
def rings(
    items: Annotated[int, typer.Option("--items", min=1000)] = 100_000,
    degree: Annotated[int, typer.Option("--degree", min=1, help="Mean out-degree.")] = 10,
    max_walks: Annotated[
        int | None, typer.Option("--max-walks", min=0, help="Edges followed from one item; rings beyond are probed.")
    ] = None,
) -> None:
    """Ring lists of a synthetic shop: time, memory, recall of probed rings; one JSON object."""
    from offline.bench import rings as lists

    shape = lists.Shape(items=items, degree=degree)
    if max_walks is not None:
        shape = replace(shape, max_walks=max_walks)
    typer.echo(json.dumps(lists.bench(shape)))


@app.command()
def retrievers(
    bundle: options.BundleDir,
    k: Annotated[int, typer.Option("--k", min=1)] = 50,
    seconds: Annotated[float, typer.Option("--seconds", min=0.01, help="Length of each measurement.")] = 1.0,
) -> None:
    """Every retriever of the bundle in this process; one JSON object a line."""
    from offline.bench.retrievers import measure

    opened = Bundle.open(bundle)
    asked = queries(opened, count=512, history=10, k=k)
    for name in available(opened):
        typer.echo(json.dumps(asdict(measure(opened, name, asked, seconds))))


@app.command()
def opening(bundle: options.BundleDir) -> None:
    """A bundle in this process: opened with and without reading every byte, then every retriever; one JSON object."""
    from offline.bench.retrievers import private_mib

    seconds = {}
    started = time.perf_counter()
    opened = Bundle.open(bundle, verify="sizes")
    seconds["open_s"] = time.perf_counter() - started
    for name in available(opened):
        if name is not RetrieverName.GR:
            open_retriever(opened, name)
    seconds["retrievers_s"] = time.perf_counter() - started - seconds["open_s"]
    started = time.perf_counter()
    Bundle.open(bundle)
    seconds["verified_open_s"] = time.perf_counter() - started
    size = sum(entry.bytes for entry in opened.manifest.files.values())
    facts = {"n_items": opened.n_items, "bundle_mib": round(size / 2**20, 1), "private_mib": round(private_mib(), 1)}
    typer.echo(json.dumps(facts | {name: round(value, 3) for name, value in seconds.items()}))


def _ask(retriever: Retriever, asked: list[Query], number: int) -> Candidates:
    return retriever.retrieve(asked[number % len(asked)])
