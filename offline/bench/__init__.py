"""Benchmarks of what answers a request, as commands; numbers are the least of several rounds."""
