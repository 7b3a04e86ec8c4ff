"""Commands that start the service."""
