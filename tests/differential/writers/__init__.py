"""Clients that write by every method that query engines use."""

from tests.differential.writers.writer import CAPABILITIES, Writer, writing

__all__ = ["CAPABILITIES", "Writer", "writing"]
