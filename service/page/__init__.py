"""The storefront page: static files that talk to the public HTTP API alone."""
