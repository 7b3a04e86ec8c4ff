"""Training of the network, and the export of what serving needs of it."""
