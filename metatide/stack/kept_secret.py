"""Secrets of a data folder, which are made at its first start and kept."""

import secrets
from pathlib import Path
from typing import Final

from state.folders import make_folder

SECRET_BYTES: Final = 32
WORKERS_SECRET: Final = "workers-secret"
"""The file in the data folder by which the workers of a stack know each other."""


def keep_secret(path: Path) -> str:
    """The secret in this file, which is for the user of this process alone."""
    if not path.exists():
        make_folder(path.parent)
        aside = path.with_suffix(".new")
        aside.unlink(missing_ok=True)
        aside.touch(mode=0o600)
        aside.write_text(secrets.token_urlsafe(SECRET_BYTES))
        aside.rename(path)
    return path.read_text()
