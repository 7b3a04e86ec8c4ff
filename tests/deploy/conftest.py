"""Makes the scripts of `deploy/` importable; they are no package."""

import sys
from pathlib import Path

DEPLOY = Path(__file__).parents[2] / "deploy"
sys.path[:0] = [str(DEPLOY), str(DEPLOY / "grafana")]
