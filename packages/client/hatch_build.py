"""Where the files of the client are: in the repository beside all others, in a source distribution
in the same folder as this file; and where the project is at home.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Sources(BuildHookInterface[Any]):
    """Adds the client's package to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # That of `metatide` has the folder on the path.
        package = "metatide/client"
        places = (Path(self.root).parents[1] / package, Path(self.root) / package)
        source = next(place for place in places if place.is_dir())
        build_data["force_include"][str(source)] = package


class ProjectUrls(MetadataHookInterface):
    """Adds the pages of the repository whose workflow releases the distribution, this or
    `metatide`. What is built elsewhere names none.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        server, repository = map(os.environ.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
        if not server or not repository:
            metadata["urls"] = {}
            return
        home, tag = f"{server}/{repository}", f"v{metadata['version']}"
        metadata["urls"] = {
            "Repository": home,
            "Documentation": f"{home}/tree/{tag}/docs",
            "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
            "Issues": f"{home}/issues",
        }
