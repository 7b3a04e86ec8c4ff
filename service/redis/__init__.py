"""Redis as the service sees it: an embedded server when none is configured, keys, a client that cannot hang."""
