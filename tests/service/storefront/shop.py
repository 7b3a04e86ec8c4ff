"""A small shop with odd products, built into a bundle and served by the real command, for the page and the clients."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

SHORTLIST = Path(sys.executable).with_name("shortlist")
ODD_ID = "a/b%c <b>"
SCRIPT = '<img src="x" onerror="document.title=1"><script>document.title=2</script>'
LONG = ("A title that goes on and on, " * 18)[:500]
SHOPPERS, VIEWS = 60, 8
PATIENT = {"gr_workers": "0", "history_timeout_ms": "5000", "deadline_ms": "20000"}
"""Nothing falls back because the machine is busy."""
START_S, COMMAND_S = 120.0, 300.0


def catalogue() -> list[dict[str, object]]:
    """40 lipsticks and brushes, one without a title whose id needs escaping, one whose title is markup, two whose names
    are very long, one of them without a place to break."""
    plain: list[dict[str, object]] = [
        {
            "item_id": f"P{number:02}",
            "title": f"{'Lipstick' if number % 2 else 'Brush'} number {number}",
            "brand": ("Aurora", "Birch", "Cirrus")[number % 3],
            "price": 5 + number / 4,
            "categories": [["Beauty", "Make-up" if number % 2 else "Tools"]],
            "rating_avg": 3 + number % 3 / 2,
            "rating_count": 3 + number,
        }
        for number in range(40)
    ]
    odd = [{"item_id": ODD_ID, "categories": [["Beauty"]]}, {"item_id": "markup", "title": SCRIPT}]
    long = [
        {"item_id": "long", "title": LONG, "brand": LONG, "categories": [[LONG, LONG]], "price": 1e9},
        {"item_id": "n" * 250, "title": "x" * 500, "brand": "y" * 500},
    ]
    return [*plain, *odd, *long]


def walks() -> list[tuple[str, str, int]]:
    """user, item, second: shoppers walk along the catalogue in steps of 1 to 3, so every item has successors."""
    ids = [str(item["item_id"]) for item in catalogue()]
    return [
        (f"u{shopper}", ids[(shopper * 7 + step * (1 + shopper % 3)) % len(ids)], 1_700_000_000 + step)
        for shopper in range(SHOPPERS)
        for step in range(VIEWS)
    ]


def build_shop(folder: Path) -> Path:
    """The shop's folder of bundles."""
    return build_of(folder, catalogue(), walks())


def build_of(folder: Path, products: list[dict[str, object]], views: list[tuple[str, str, int]]) -> Path:
    """The folder of bundles of any shop."""
    items, interactions = folder / "items.jsonl", folder / "interactions.csv"
    items.write_text("".join(json.dumps(item) + "\n" for item in products))
    rows = "".join(f'{user},"{item}",{second}\n' for user, item, second in views)
    interactions.write_text("user_id,item_id,timestamp\n" + rows)
    (folder / "build.toml").write_text("[ratings]\nlow = 1\nhigh = 5\n")
    files = ["--interactions", interactions, "--items", items, "--config", folder / "build.toml"]
    run("build", *files, "--bundles", folder / "bundles")
    return folder / "bundles"


def train_shop(folder: Path) -> None:
    """One epoch: enough for DR and its prior to be served, not to be good."""
    files = ["--bundles", folder / "bundles", "--interactions", folder / "interactions.csv"]
    run("train", *files, "--epochs", "1", "--threads", "1")


def run(*arguments: str | Path) -> None:
    """One `shortlist` command, which must succeed."""
    done = subprocess.run([SHORTLIST, *arguments], check=False, capture_output=True, text=True, timeout=COMMAND_S)
    assert done.returncode == 0, done.stderr[-3000:]


@contextmanager
def serving_shop(bundles: Path, log: Path, **settings: str) -> Iterator[str]:
    """`shortlist serve` on a free port until it is ready; settings as SHORTLIST_* without the prefix."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    settings = PATIENT | {"data_dir": str(log.parent / "data")} | settings
    environment = os.environ | {f"SHORTLIST_{name.upper()}": value for name, value in settings.items()}
    command = [SHORTLIST, "serve", "--bundles", bundles, "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(url, "/healthz", alive=lambda: process.poll() is None)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def wait_until(url: str, path: str, *, alive: Callable[[], bool] = lambda: True) -> None:
    """Ask until the answer is 200."""
    deadline = time.monotonic() + START_S
    with httpx.Client(base_url=url) as client:
        while time.monotonic() < deadline and alive():
            with suppress(httpx.TransportError):
                if client.get(path).status_code == 200:
                    return
            time.sleep(0.05)
    raise AssertionError(f"{path} did not come to answer 200")
