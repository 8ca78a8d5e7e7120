"""The folders of a warehouse on this machine, as URLs."""

from pathlib import Path


def managed_url(warehouse: Path) -> str:
    return f"file:{warehouse / 'managed'}"


def external_url(warehouse: Path) -> str:
    return f"file:{warehouse / 'external'}"
