"""A/B routing: experiments as data, stable assignment, exposures, and the report that joins them with events."""
