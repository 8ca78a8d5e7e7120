"""Consoles that print texts as they are."""

from functools import partial
from typing import Final

from rich.console import Console

PlainConsole: Final = partial(Console, markup=False, emoji=False)
"""A console on which `[…]` and `:name:` mean nothing: names, values and paths may contain them."""
