"""Offline jobs: logs and catalogue in, artifacts of a bundle out; evaluation and audit."""
