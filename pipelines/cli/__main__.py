"""`python -m pipelines.cli` is the `anabranch` command."""

from pipelines.cli import main

main()
