"""`python -m metatide` is the `metatide` command."""

from metatide.cli import main

main()
