"""Where exposures and events are written down: bounded streams and rotated files that never hold up a request."""
