"""Changes to the network of a job while it runs: lines of a file or records of a topic."""
