"""A new version of a bundle from a day of new interactions, equal to a build on everything."""
