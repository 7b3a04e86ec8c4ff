"""`gr` through the queue and the bare decode loop, with the same decoder, batches and threads."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from loadtest.bench.libraries import current_folder
from loadtest.bench.row import Options, Row
from loadtest.machine import one_thread
from loadtest.running import ROOT


def generative(options: Options) -> Iterator[Row]:
    """Queries a second in batches of 32 and one at a time."""
    if not (current_folder(options.bundles) / "generator.safetensors").exists():
        yield Row("gr", "no generator: the bundle is not trained")
        return
    for batch in (1, 32):
        command = [sys.executable, "-m", "service.worker.bench", "--bundles", str(options.bundles)]
        command += ["--batch", str(batch), "--seconds", str(options.seconds), "--rounds", str(options.rounds)]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | one_thread(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"the worker's benchmark failed:\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        figures = {name: found[name] for name in ("queue_per_s", "bare_per_s", "ratio")}
        yield Row("gr", f"batches of {batch}", figures)
