"""Secrets of a data folder, which are made at its first start and kept."""

import secrets
from pathlib import Path
from typing import Final

from metatide.config import Config
from state.folders import make_folder

SECRET_BYTES: Final = 32
WORKERS_SECRET: Final = "workers-secret"
"""The file in the data folder by which the workers of a stack know each other."""


def workers_secret(config: Config) -> Path | None:
    """The file by which workers know each other; if none is configured, that of the stack on the
    data folder, if there is one.
    """
    own = config.data_dir / WORKERS_SECRET
    return config.worker.secret_file or (own if own.exists() else None)


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
