"""Throughput through the queue against the bare decode loop: same decoder, same batches, same threads.

    python -m service.worker.bench --bundles DIR [--retriever gr] [--batch 32] [--seconds 10] [--rounds 3]

In turn, round by round: a worker process decodes behind an embedded Redis while this process keeps two batches in
flight, and the same queries are decoded in a loop in this process, in batches of the same size. Rates are of the best
round of each; processor time a request (of the worker; of the loop, with the opening of the bundle) is given for each
round, for machines that are not quiet.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from models.bundle.layout import AVAILABLE, GRAPH_OFFSETS
from models.bundle.reader import Bundle
from models.registry import open_retriever
from models.retrieval import Eligible, Query
from models.words import RetrieverName
from service.ports import StageError
from service.redis.link import LinkConfig, RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.supervisor.launch import guarded
from service.worker.client import ClientConfig, GrClient

LENGTH, K = 10, 50
BATCHES_IN_FLIGHT = 2
START_TIMEOUT_S = 120.0


def queries(bundle: Bundle, count: int) -> list[Query]:
    """Histories of items that have successors, from a fixed seed; under the bundle's stock, as a worker answers."""
    known = np.flatnonzero(np.diff(bundle.array(GRAPH_OFFSETS)) > 0).astype(np.int32)
    draw = np.random.default_rng(3)
    stock = np.asarray(bundle.array(AVAILABLE)) if bundle.has(AVAILABLE) else None
    rule = Eligible(bundle.n_items, None if stock is None or stock.all() else stock)
    return [Query(draw.choice(known, LENGTH), K, rule) for _ in range(count)]


def bare(bundle: Bundle, name: RetrieverName, asked: list[Query], batch: int, seconds: float) -> float:
    """Queries a second of the decode loop."""
    retriever = open_retriever(bundle, name)
    retriever.retrieve_batch(asked[:batch])
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        start = done % (len(asked) - batch)
        done += len(retriever.retrieve_batch(asked[start : start + batch]))
    return done / (time.perf_counter() - started)


async def queued(url: str, bundle: Bundle, asked: list[Query], batch: int, seconds: float) -> float:
    """Queries a second through the queue."""
    link = RedisLink(LinkConfig(url))
    await link.warm()
    client = GrClient(link, ClientConfig(reserve_ms=0))
    client.start()
    await client.ready()
    await until_served(client, bundle, asked[0])
    done, ends = 0, time.perf_counter() + seconds

    async def ask(number: int) -> None:
        nonlocal done
        while time.perf_counter() < ends:
            number = (number + 1) % len(asked)
            await client.retrieve(bundle.version, asked[number], deadline=time.monotonic() + 60)
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(ask(7 * number) for number in range(BATCHES_IN_FLIGHT * batch)))
    rate = done / (time.perf_counter() - started)
    await client.stop()
    await link.aclose()
    return rate


async def until_served(client: GrClient, bundle: Bundle, one: Query) -> None:
    """Wait until a worker answers.

    Raises:
        TimeoutError: none does.
    """
    async with asyncio.timeout(START_TIMEOUT_S):
        while True:
            try:
                await client.retrieve(bundle.version, one, deadline=time.monotonic() + 10)
            except StageError:
                await asyncio.sleep(0.1)
            else:
                return


def worker_process(arguments: argparse.Namespace, url: str) -> "subprocess.Popen[bytes]":
    """A worker that is bound to the life of this process."""
    environment = os.environ | {
        "SHORTLIST_REDIS_URL": url,
        "SHORTLIST_GR_MAX_BATCH": str(arguments.batch),
        "SHORTLIST_GR_THREADS": str(arguments.threads),
        "SHORTLIST_LOG_LEVEL": "warning",
    }
    shortlist = (sys.executable, "-P", "-c", "from models.cli import main; main()", "worker")
    command = guarded((*shortlist, "--bundles", str(arguments.bundles), "--retriever", arguments.retriever))
    return subprocess.Popen(command, env=environment)


def processor_s(pid: int) -> float:
    """Processor time that a process has used, in seconds (proc(5): fields 14 and 15 of `stat`)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """Best rates of some rounds."""
    bundle = Bundle.open(arguments.bundles)
    name = RetrieverName(arguments.retriever)
    asked = queries(bundle, 20 * arguments.batch)
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedRedis(EmbeddedRedisConfig(Path(folder))) as redis,
        worker_process(arguments, redis.url) as worker,
    ):
        rates, loops, queue_ms, bare_ms = [], [], [], []
        for _ in range(arguments.rounds):
            before = processor_s(worker.pid)
            rates.append(asyncio.run(queued(redis.url, bundle, asked, arguments.batch, arguments.seconds)))
            queue_ms.append((processor_s(worker.pid) - before) / (rates[-1] * arguments.seconds) * 1e3)
            before = time.process_time()
            loops.append(bare(bundle, name, asked, arguments.batch, arguments.seconds))
            bare_ms.append((time.process_time() - before) / (loops[-1] * arguments.seconds) * 1e3)
        worker.terminate()
    return {
        "retriever": name,
        "batch": arguments.batch,
        "threads": arguments.threads,
        "queue_per_s": round(max(rates), 1),
        "bare_per_s": round(max(loops), 1),
        "ratio": round(max(rates) / max(loops), 3),
        "queue_processor_ms": [round(ms, 2) for ms in queue_ms],
        "bare_processor_ms": [round(ms, 2) for ms in bare_ms],
    }


def main() -> None:
    """Parse the arguments, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, required=True)
    parser.add_argument("--retriever", default="gr", choices=[name.value for name in RetrieverName])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    wanted = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(arguments.threads))
    if wanted.items() - os.environ.items():  # NumPy reads them when it is imported, which has happened
        os.execve(sys.executable, [sys.executable, "-m", "service.worker.bench", *sys.argv[1:]], os.environ | wanted)
    sys.stdout.write(json.dumps(measure(arguments), indent=2) + "\n")


if __name__ == "__main__":
    main()
