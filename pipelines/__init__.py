"""Jobs: their configuration, the dataflow they become, the processes that run it."""
