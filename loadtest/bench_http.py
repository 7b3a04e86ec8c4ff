"""Throughput of `/recommend` against a bare FastAPI route that declares the same model and answers stored bytes.

    python loadtest/bench_http.py --bundles DIR [--retriever tgh-2] [--k 50] [--rounds 5] [--seconds 5]

One uvicorn process on core 0 serves both, wrk on core 1 asks them in turn, one after the other in each round; the
figures are those of the best round of each and the median of the rounds' ratios. Needs wrk and two cores.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER_CORE, CLIENT_CORE = 0, 1
START_TIMEOUT_S = 120.0
N_BODIES = 2000


@dataclass(frozen=True)
class Load:
    """How the generator asks.

    Attributes:
        connections: open at once.
        seconds: length of one measurement.
    """

    connections: int
    seconds: int


@dataclass(frozen=True)
class Figures:
    """What one measurement found.

    Attributes:
        rate: requests a second.
        cpu_us: processor time of the server a request, in microseconds; other programs disturb it less than the rate.
        p50_ms, p99_ms: latency.
    """

    rate: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


def start_server(bundles: Path, port: int) -> subprocess.Popen:
    """Uvicorn with both applications on one core; this process and all that it starts later on the other."""
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "bare_route:Both",
        "--factory",
        "--app-dir",
        str(ROOT / "tests/service"),
    ]
    command += ["--port", str(port), "--no-access-log", "--no-server-header", "--loop", "uvloop", "--http", "httptools"]
    command += ["--no-proxy-headers", "--ws", "none", "--lifespan", "on", "--log-level", "warning"]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
    environment = os.environ | threads | {"SHORTLIST_BUNDLES": str(bundles), "SHORTLIST_LOG_LEVEL": "warning"}
    os.sched_setaffinity(0, {SERVER_CORE})
    server = subprocess.Popen(command, env=environment, cwd=ROOT)
    os.sched_setaffinity(0, {CLIENT_CORE})
    return server


def fetch(url: str, body: bytes | None = None, method: str | None = None) -> bytes:
    """The answer's bytes."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def wait_ready(base: str, server: subprocess.Popen) -> dict:
    """The answer of `/readyz`."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            return json.loads(fetch(f"{base}/readyz"))
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not become ready")


def catalogue_ids(base: str, n: int) -> list[str]:
    """Ids of the most popular items."""
    ids: list[str] = []
    cursor = ""
    while len(ids) < n:
        page = json.loads(fetch(f"{base}/items?limit=100{cursor}"))
        ids += [item["item_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    return ids


def bodies(ids: list[str], k: int, retriever: str) -> list[bytes]:
    """Requests of users with 2 to 10 items, from a fixed seed."""
    draw = random.Random(7)
    requests = (
        {"user_id": f"u{n}", "history": draw.sample(ids, draw.randint(2, 10)), "k": k, "retriever": retriever}
        for n in range(N_BODIES)
    )
    return [json.dumps(request).encode() for request in requests]


def milliseconds(text: str) -> float:
    """wrk's way to write a time."""
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def cpu_s(pid: int) -> float:
    """Processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(url: str, file: Path, load: Load, pid: int) -> Figures:
    """One run of wrk; any answer but a 2xx is an error."""
    before = cpu_s(pid)
    command = ["wrk", "-t1", f"-c{load.connections}", f"-d{load.seconds}s", "--latency", "-s"]
    command += [str(ROOT / "loadtest/wrk.lua"), url, "--", str(file)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(output)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    p50, p99 = (milliseconds(re.search(rf"(?m)^\s+{share}%\s+(\S+)", output)[1]) for share in (50, 99))
    requests = int(re.search(r"(\d+) requests in", output)[1])
    return Figures(rate, (cpu_s(pid) - before) / requests * 1e6, p50, p99)


def memory_mib(pid: int) -> dict[str, float]:
    """Resident memory of a process; the bundle's mapped pages count as file."""
    status = Path(f"/proc/{pid}/status").read_text()
    return {key: int(re.search(rf"{key}:\s+(\d+)", status)[1]) / 1024 for key in ("VmRSS", "RssAnon", "RssFile")}


def compare(base: str, file: Path, load: Load, rounds: int, pid: int) -> None:
    """Ask both in turn and print what was found."""
    targets = {"bare": f"{base}/bare/recommend", "recommend": f"{base}/recommend"}
    for url in targets.values():
        measure(url, file, Load(load.connections, 1), pid)
    found: dict[str, list[Figures]] = {name: [] for name in targets}
    for turn in range(rounds):
        for name, url in targets.items():
            found[name].append(measure(url, file, load, pid))
        pair = {name: figures[-1] for name, figures in found.items()}
        ratio = pair["recommend"].rate / pair["bare"].rate
        print(
            f"round {turn + 1}: " + ", ".join(f"{n} {f.rate:,.0f}/s" for n, f in pair.items()) + f", ratio {ratio:.3f}"
        )
    ratios = [ours.rate / bare.rate for ours, bare in zip(found["recommend"], found["bare"], strict=True)]
    for name, figures in found.items():
        best = max(figures, key=lambda one: one.rate)
        cpu = min(one.cpu_us for one in figures)
        print(
            f"{name:10} best {best.rate:9,.1f}/s  p50 {best.p50_ms:.2f} ms  p99 {best.p99_ms:.2f} ms  cpu {cpu:.1f} us"
        )
    best_ratio = max(f.rate for f in found["recommend"]) / max(f.rate for f in found["bare"])
    by_cpu = min(f.cpu_us for f in found["bare"]) / min(f.cpu_us for f in found["recommend"])
    print(f"ratio: median {statistics.median(ratios):.3f}, best {best_ratio:.3f}, by processor time {by_cpu:.3f}")


def main() -> None:
    """Start, measure, stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundles", type=Path, required=True)
    parser.add_argument("--retriever", default="tgh-2")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--port", type=int, default=8931)
    options = parser.parse_args()
    base = f"http://127.0.0.1:{options.port}"
    server = start_server(options.bundles.resolve(), options.port)
    try:
        ready = wait_ready(base, server)
        print(f"bundle {ready['bundle']}, {ready['n_items']:,} items, {options.retriever}, k = {options.k}")
        requests = bodies(catalogue_ids(base, 2000), options.k, options.retriever)
        answer = fetch(f"{base}/recommend", requests[0])
        fetch(f"{base}/bare/answer", answer, "PUT")
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(b"\n".join(requests))
            file.flush()
            compare(base, Path(file.name), Load(options.connections, options.seconds), options.rounds, server.pid)
        print(f"answer {len(answer):,} bytes; memory of the process, MiB: {memory_mib(server.pid)}")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
