"""Baselines of other libraries, which run in an environment of their own."""
