"""Where the deployment's files lie."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
LOCKS = DEPLOY / "locks"
IMAGES = ("api", "worker", "jobs")
