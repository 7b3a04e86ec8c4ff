"""`shortlist demo`: real data, a bundle, a running service and how to ask it, in one command."""

import json
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from models.bundle.reader import Bundle
from models.errors import BundleError, ConfigError, ShortlistError
from models.registry import available
from models.words import RetrieverName

HOST = "127.0.0.1"
USUAL_PORT = 8000
BRIEFLY = ("--epochs", "1", "--set", "steps=100", "--set", "batch=64", "--set", "warmup_steps=20")
"""A training of a minute at most on two cores; it starts from spectral vectors that retrieve well untrained."""
START_TIMEOUT_S = 180.0
POLL_S = 0.1
SHORTLIST = (sys.executable, "-P", "-c", "from models.cli import main; main()")
"""The command line of this very installation, for child processes: rooms do not import each other."""

Folder = Annotated[Path, typer.Option("--dir", help="Folder for data and bundle; a second run finds them there.")]
Port = Annotated[
    int | None,
    typer.Option(
        envvar="SHORTLIST_PORT",
        help="TCP port; absent = 8000, or any free one where that is taken.",
        max=65535,
        show_default=False,
    ),
]
Products = Annotated[int, typer.Option(help="Products that are kept, most bought first.", min=100, max=60_000)]
Train = Annotated[bool, typer.Option("--train/--no-train", help="Also train the network of dr, dr-prior, gr, fused.")]
Serve = Annotated[bool, typer.Option("--serve/--no-serve", help="Start the service when the bundle is there.")]


def _step(text: str) -> None:
    typer.secho(f"==> {text}", bold=True)


def _shortlist(*arguments: str) -> None:
    """Run a command of this installation; its progress goes to the same terminal."""
    typer.echo("    shortlist " + shlex.join(arguments))
    code = subprocess.run([*SHORTLIST, *arguments], check=False).returncode
    if code:
        raise typer.Exit(code)


def _retrievers(bundles: Path) -> tuple[RetrieverName, ...]:
    """What the current bundle can serve; nothing without a sound bundle."""
    try:
        return available(Bundle.open(bundles))
    except BundleError:
        return ()


def prepare(folder: Path, *, products: int, train: bool) -> Path:
    """The folder of bundles, built from the data and trained unless a sound one is there. Returns the folder."""
    data, bundles = folder / "data", folder / "bundles"
    interactions = ("--interactions", str(data / "interactions.parquet"))
    there = _retrievers(bundles)
    if there:
        _step(f"A bundle is there: {bundles}")
    else:
        _step(f"The {products:,} most bought products of a year of grocery purchases")
        _shortlist("demo-data", "--out", str(data), "--products", str(products))
        _step("Building a bundle")
        _shortlist("build", *interactions, "--items", str(data / "items.parquet"), "--bundles", str(bundles))
    if train and RetrieverName.DR not in there:
        _step(
            "Training dr, dr-prior, gr and fused, briefly: without these options it goes on until validation stops it"
        )
        _shortlist("train", "--bundles", str(bundles), *interactions, *BRIEFLY)
    return bundles


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def choose_port(wanted: int | None) -> int:
    """The port that was asked for, else the usual one, else any free one.

    Raises:
        ConfigError: the port that was asked for is taken.
    """
    if wanted is not None and not _is_free(wanted):
        raise ConfigError(
            f"port {wanted}", found="another program on it", expected="a free port", remedy="Choose another --port."
        )
    if wanted is not None or _is_free(USUAL_PORT):
        return USUAL_PORT if wanted is None else wanted
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def _wait_ready(server: subprocess.Popen[bytes], base: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            _get(f"{base}/readyz")
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_S)
        else:
            return
    raise ShortlistError(
        "the service",
        found=f"exit code {server.poll()}" if server.poll() is not None else f"no answer in {START_TIMEOUT_S:g} s",
        expected="a service that is ready",
        remedy="Its log stands above.",
    )


def _curl(base: str, path: str, body: dict[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False)
    return f"curl -s {base}{path} -H 'Content-Type: application/json' -d {shlex.quote(text)}"


def suggestions(base: str) -> list[str]:
    """Commands that work when pasted, with ids of the loaded bundle."""
    items = _get(f"{base}/items?limit=2")["items"]
    ids = [item["item_id"] for item in items]
    others = [name for name in _get(f"{base}/readyz")["retrievers"] if name != "tgh-2"]
    chosen = _curl(base, "/recommend", {"history": ids, "k": 10})
    named = (_curl(base, f"/recommend/{urllib.parse.quote(name)}", {"history": ids, "k": 10}) for name in others)
    return [chosen, *named, f"curl -s '{base}/items?q=milk'", f"curl -s {base}/items/{ids[0]}/neighbours"]


def _explain(base: str) -> None:
    _step(f"Ready: {base} (API: {base}/docs). Ctrl-C ends it. Ask it:")
    for command in suggestions(base):
        typer.echo(f"    {command}")


def _serve(bundles: Path, port: int) -> int:
    base = f"http://{HOST}:{port}"
    _step(f"Starting the service on {base}")
    arguments: Sequence[str] = ("serve", "--bundles", str(bundles), "--host", HOST, "--port", str(port))
    server = subprocess.Popen([*SHORTLIST, *arguments])

    def stop(number: int, _: FrameType | None) -> None:
        server.send_signal(number)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        _wait_ready(server, base)
        _explain(base)
        return server.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        server.terminate()
        server.wait()


def demo(
    folder: Folder = Path(".demo"),
    port: Port = None,
    products: Products = 3000,
    train: Train = True,
    serve: Serve = True,
) -> None:
    """Build a bundle from real grocery purchases, train it briefly, serve it, and show how to ask it."""
    chosen = choose_port(port) if serve else USUAL_PORT
    bundles = prepare(folder, products=products, train=train)
    if not serve:
        _step(f"Serve it with: shortlist serve --bundles {shlex.quote(str(bundles))}")
        return
    raise typer.Exit(_serve(bundles, chosen))
