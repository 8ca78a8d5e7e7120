"""Prints a bill of materials (CycloneDX 1.6): what Metatide with all extras needs from package
indexes and from Maven, in the versions that are installed here and locked.
"""

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
JARSETS = ROOT / "metatide" / "stack" / "jarsets"
EXTRAS = {"spark", "embedded", "otel", "jwt"}


def needed(name: str, extras: set[str], versions: dict[str, str]) -> None:
    """Adds a distribution with all that it needs."""
    distribution = importlib.metadata.distribution(name)
    versions[distribution.name.lower()] = distribution.version
    for text in distribution.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        environments = ({"extra": extra} for extra in extras | {""})
        if marker is not None and not any(marker.evaluate(values) for values in environments):
            continue
        if requirement.name.lower() not in versions or requirement.extras:
            needed(requirement.name, requirement.extras, versions)


def package(name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name.replace('_', '-')}@{version}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def jar(line: str) -> dict[str, Any]:
    sha256, _, artifact = line.split()
    group, name, version = artifact.split(":")[:3]
    purl = f"pkg:maven/{group}/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "group": group,
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": sha256}],
        "purl": purl,
    }


def bill() -> dict[str, Any]:
    versions: dict[str, str] = {}
    needed("metatide", EXTRAS, versions)
    version = versions.pop("metatide")
    lines = {line for path in JARSETS.glob("*.lock") for line in path.read_text().splitlines()}
    components = [package(*item) for item in versions.items()] + [jar(line) for line in lines]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**package("metatide", version), "type": "application"}},
        "components": sorted(components, key=lambda component: str(component["bom-ref"])),
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=2))
