"""The HTTP service: retrieval, routing, history, exposures, hot swap, fallback, the GR worker."""
