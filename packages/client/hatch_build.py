"""Where the files of the client are: in the repository beside all others, in a source distribution
in the same folder as this file.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Sources(BuildHookInterface[Any]):
    """Adds the client's package to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # That of `metatide` has the folder on the path.
        package = "metatide/client"
        places = (Path(self.root).parents[1] / package, Path(self.root) / package)
        source = next(place for place in places if place.is_dir())
        build_data["force_include"][str(source)] = package
