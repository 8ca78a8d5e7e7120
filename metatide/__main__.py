"""`python -m metatide` is the `metatide` command."""

from metatide.entry import main

main()
