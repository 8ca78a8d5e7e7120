"""The default locations of files on this machine."""

import os
from pathlib import Path

import platformdirs


def default_cache_dir() -> Path:
    """The folder for files that can be fetched again."""
    return platformdirs.user_cache_path("metatide")


def default_data_dir() -> Path:
    """The folder for files that must be kept."""
    # For root, PostgreSQL runs as another user, who may not enter root's home.
    if os.geteuid() == 0:
        return platformdirs.site_state_path("metatide")
    return platformdirs.user_data_path("metatide")


def cache_dir() -> Path:
    """The folder of jars and of their classes' archives: METATIDE_CACHE_DIR, or else the user's
    cache folder."""
    return Path(os.environ.get("METATIDE_CACHE_DIR") or default_cache_dir()).expanduser().absolute()
