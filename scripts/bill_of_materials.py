"""Prints a bill of materials (CycloneDX 1.6): what Metatide with all extras needs from package
indexes and from Maven, in the versions that are installed here and locked.
"""

import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
JARSETS = ROOT / "metatide" / "stack" / "jarsets"
INSTALLED = {"spark", "embedded", "otel", "jwt"}
"""The extras that are installed here."""
LOCKED = {"kerberos": "gssapi-1.lock", "msk": "msk-1.lock"}
"""Those that aren't, by what locks them for their tests."""


def needed(name: str, extras: set[str], versions: dict[str, str]) -> None:
    """Adds a distribution with all that it needs."""
    distribution = importlib.metadata.distribution(name)
    versions[_plain(distribution.name)] = distribution.version
    for text in distribution.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        environments = ({"extra": extra} for extra in extras | {""})
        if marker is not None and not any(marker.evaluate(values) for values in environments):
            continue
        if _plain(requirement.name) not in versions or requirement.extras:
            needed(requirement.name, requirement.extras, versions)


def _plain(name: str) -> str:
    """A name as indexes spell it."""
    return name.lower().replace("_", "-")


def locked(lock: str) -> dict[str, str]:
    """The versions in a lock."""
    text = (ROOT / "tests" / "support" / lock).read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def package(name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
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
    installed: dict[str, str] = {}
    needed("metatide", INSTALLED, installed)
    version = installed.pop("metatide")
    versions: dict[str, str] = {}
    for lock in LOCKED.values():
        versions |= locked(lock)
    versions |= installed
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
