"""The same expressions on a cluster: PySpark behind ibis."""
