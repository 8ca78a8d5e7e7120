"""Servers that are published as one archive with all their plugins."""

import shutil
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path

from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.jars import JarSet
from metatide.stack.machine import file_lock
from state.folders import make_folder

_SETS = Path(__file__).parents[1] / "jarsets"


def unpacked(name: str, plugins: Collection[str]) -> Path:
    """The folder of a server, which is fetched and unpacked once into the cache, with no other
    plugins than these.
    """
    archive = JarSet.load(name, _SETS)
    cache = make_folder(cache_dir() / "jars")
    folder = cache / f"{archive.folder_name}-unpacked"
    with file_lock(cache / f".{name}-unpacked.lock"):
        if not folder.is_dir():
            fetched = jars.install(archive, cache)
            _unpack(fetched / archive.jars[0].artifact.file_name, folder, plugins)
            shutil.rmtree(fetched)
    return folder


def _unpack(archive: Path, folder: Path, plugins: Collection[str]) -> None:
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        # Files of one plugin may be hard links to those of another, so all are unpacked at first.
        command = ["tar", "--extract", "--file", str(archive), "--strip-components=1"]
        subprocess.run([*command, "--directory", str(partial)], check=True)
        for plugin in (partial / "plugin").iterdir():
            if plugin.name not in plugins:
                shutil.rmtree(plugin)
        partial.chmod(0o755)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
