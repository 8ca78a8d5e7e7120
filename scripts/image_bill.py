"""Prints a bill of materials (CycloneDX 1.6) of the image in which it runs: packages of Debian and
of Python, and jars. An image needs nothing for it:

docker run --rm --interactive --entrypoint python IMAGE - < scripts/image_bill.py
"""

import hashlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEBIAN_PACKAGES = Path("/var/lib/dpkg/status")


def python_packages() -> Iterator[dict[str, Any]]:
    for distribution in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.name).lower()
        yield component(f"pkg:pypi/{name}@{distribution.version}", name, distribution.version)


def debian_packages() -> Iterator[dict[str, Any]]:
    for paragraph in DEBIAN_PACKAGES.read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            purl = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
            yield component(purl, name, version)


def jars() -> Iterator[dict[str, Any]]:
    for path in Path(sys.prefix).rglob("*.jar"):
        name, version = re.fullmatch(r"(.+?)(?:-(\d.*))?\.jar", path.name).groups("")  # type: ignore[union-attr]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield {
            **component(f"pkg:generic/{path.name}?checksum=sha256:{digest}", name, version),
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }


def component(purl: str, name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def bill() -> dict[str, Any]:
    by_reference = {
        each["bom-ref"]: each for each in (*python_packages(), *debian_packages(), *jars())
    }
    [own] = (each for each in by_reference.values() if each["name"] == "metatide")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "container", "name": "metatide", "version": own["version"]}
        },
        "components": [by_reference[reference] for reference in sorted(by_reference)],
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=2))
