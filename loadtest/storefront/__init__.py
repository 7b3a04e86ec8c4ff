"""A storefront's visitors, by Locust: `python -m loadtest.storefront --help`."""
