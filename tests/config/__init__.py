"""Job configuration."""
