"""A running job as it stands, for pages and metrics."""
