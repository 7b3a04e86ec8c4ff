"""Cancels and deadlines at random, in bulk, against a worker process: nothing may wedge, cross or start too late.

    python -m service.worker.soak --bundles DIR [--requests 10000] [--retriever gr] [--seed 1]

Each request asks for a list whose right answer was computed beforehand, under a deadline between 1 ms and 2 s, and
three in ten are cancelled at a random moment. Prints outcomes, crossed replies, what is left in the queue and the
time it took.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from models.bundle.reader import Bundle
from models.registry import open_retriever
from models.retrieval import Candidates, Query
from models.words import RetrieverName
from service.ports import StageError
from service.redis import keys
from service.redis.link import LinkConfig, RedisLink
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig
from service.worker.bench import queries, until_served, worker_process
from service.worker.client import ClientConfig, GrClient

DIFFERENT = 64
AT_ONCE = 200
CANCELLED_SHARE = 0.3
DEADLINES_S = (0.001, 0.01, 0.05, 0.2, 2.0)
TOLERANCE = 1e-4


class Soak:
    """One run.

    Args:
        client: asks.
        version: bundle.
        asked: queries.
        right: their lists.
        seed: of the random cancels and deadlines.
    """

    def __init__(
        self, client: GrClient, version: str, asked: list[Query], right: list[Candidates], *, seed: int
    ) -> None:
        self._client, self._version, self._asked, self._right = client, version, asked, right
        self._chance = random.Random(seed)
        self.outcomes: Counter[str] = Counter()
        self.crossed = 0

    async def one(self, number: int) -> None:
        """One request, maybe cancelled."""
        deadline = time.monotonic() + self._chance.choice(DEADLINES_S)
        task = asyncio.create_task(
            self._client.retrieve(self._version, self._asked[number % DIFFERENT], deadline=deadline)
        )
        if self._chance.random() < CANCELLED_SHARE:
            await asyncio.sleep(self._chance.random() * 0.05)
            task.cancel()
        try:
            found, _ = await task
        except asyncio.CancelledError:
            self.outcomes["cancelled"] += 1
        except StageError as error:
            self.outcomes[error.reason.value] += 1
        else:
            self.outcomes["served"] += 1
            self.crossed += not _same(found, self._right[number % DIFFERENT])


def _same(found: Candidates, right: Candidates) -> bool:
    """Batches may round scores differently, and so swap items whose scores are equal to that precision."""
    return len(found.items) == len(right.items) and np.allclose(found.scores, right.scores, atol=TOLERANCE)


async def soak(arguments: argparse.Namespace, url: str, bundle: Bundle) -> dict[str, Any]:
    """All requests, then a look at what is left."""
    link = RedisLink(LinkConfig(url))
    await link.warm()
    client = GrClient(link, ClientConfig(reserve_ms=0))
    client.start()
    await client.ready()
    asked = queries(bundle, DIFFERENT)
    right = open_retriever(bundle, RetrieverName(arguments.retriever)).retrieve_batch(asked)
    await until_served(client, bundle, asked[0])
    run, started = Soak(client, bundle.version, asked, right, seed=arguments.seed), time.perf_counter()
    for begin in range(0, arguments.requests, AT_ONCE):
        await asyncio.gather(*(run.one(number) for number in range(begin, begin + AT_ONCE)))
    took_s = time.perf_counter() - started
    await until_served(client, bundle, asked[0])
    await asyncio.sleep(3)
    stream = keys.gr_requests(bundle.version)
    left = await link.call(lambda redis: redis.xlen(stream))
    await client.stop()
    await link.aclose()
    return {
        "requests": arguments.requests,
        "took_s": round(took_s, 1),
        "outcomes": dict(run.outcomes),
        "crossed": run.crossed,
        "left_in_stream": left,
        "replies_to_nobody": client.strays,
    }


def main() -> None:
    """Parse the arguments, run, print one JSON object; exits 1 if anything crossed or is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, required=True)
    parser.add_argument("--retriever", default="gr", choices=[name.value for name in RetrieverName])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bundle = Bundle.open(arguments.bundles)
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedRedis(EmbeddedRedisConfig(Path(folder))) as redis,
        worker_process(arguments, redis.url) as worker,
    ):
        figures = asyncio.run(soak(arguments, redis.url, bundle))
        worker.terminate()
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    sys.exit(1 if figures["crossed"] or figures["left_in_stream"] else 0)


if __name__ == "__main__":
    main()
