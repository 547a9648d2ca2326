"""The command line, the supervisor, the run directory."""
