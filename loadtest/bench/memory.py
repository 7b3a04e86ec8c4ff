"""Several API processes over one bundle: what they share, what each has for itself, and how fast they are ready."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from loadtest.asking import histories, popular_ids
from loadtest.bench.over_http import N_BODIES, N_IDS, write_bodies
from loadtest.bench.row import Options, Row
from loadtest.machine import memory
from loadtest.running import whole_service
from loadtest.wrk import ask, require_wrk

PROCESSES = 4


def memory_of_processes(options: Options) -> Iterator[Row]:
    """Four API processes after some load."""
    require_wrk()
    started = time.perf_counter()
    settings = {"workers": PROCESSES, "gr_workers": 0, "deadline_ms": 5000}
    with whole_service(options.bundles, **settings) as service, tempfile.TemporaryDirectory() as folder:
        ready_s = time.perf_counter() - started
        past = histories(popular_ids(service.url, N_IDS), N_BODIES)
        names = [name for name in service.retrievers if name != "gr"]
        asked = [
            {"history": one, "k": options.k, "retriever": names[number % len(names)]} for number, one in enumerate(past)
        ]
        file = write_bodies(Path(folder) / "bodies", asked)
        ask(f"{service.url}/recommend", file, options.load(), service.pid)
        for number, pid in enumerate(service.api_pids()):
            found = memory(pid)
            figures: dict[str, float | str] = {
                "resident_mib": round(found.resident, 1),
                "private_mib": round(found.private, 1),
                "own_mib": round(found.own, 1),
                "shared_mib": round(found.shared, 1),
                "service_ready_s": round(ready_s, 2),
            }
            yield Row("memory of API processes", f"process {number + 1} of {PROCESSES}", figures)
