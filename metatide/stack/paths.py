"""Where things are kept on this machine."""

import os
from pathlib import Path

import platformdirs


def cache_dir() -> Path:
    """What can be fetched again: jars. METATIDE_CACHE_DIR overrides the user's cache folder."""
    return _folder("METATIDE_CACHE_DIR", platformdirs.user_cache_path("metatide"))


def data_dir() -> Path:
    """What must be kept. METATIDE_DATA_DIR overrides the user's data folder."""
    return _folder("METATIDE_DATA_DIR", platformdirs.user_data_path("metatide"))


def _folder(variable: str, default: Path) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()
