"""Benchmarks side by side in one run: `python -m loadtest.bench --help`."""
