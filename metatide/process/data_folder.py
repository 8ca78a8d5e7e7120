"""The data folder, which is for the user of this process alone."""

import os
from pathlib import Path

from metatide.config import Config
from state.folders import make_folder

_OTHERS = 0o077


def open_data_folder(config: Config) -> Path:
    """Makes the data folder, and withholds from others what this process and those that it starts
    write from now on.
    """
    folder = make_folder(config.data_dir)
    os.umask(_OTHERS)
    return folder
