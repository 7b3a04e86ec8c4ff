"""What makes the service live: histories, stock, experiments, sinks and the GR queue, put together in one process."""
