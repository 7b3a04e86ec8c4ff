"""What offline and online must agree on: the bundle, the retrievers, the graph, the value prior, the networks."""
