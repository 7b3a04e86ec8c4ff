"""Every measure of a list, a comparison and a data set, as pure functions over arrays."""
