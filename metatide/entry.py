"""The console script: begins the command once it is clear that all packages are Metatide's.

Their names are common, and what another distribution installs under one of them would be imported
in place of ours.
"""

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from metatide.process.stop_signals import end_by_sigterm

PACKAGES = "hive", "state", "connectors", "processors", "query_api"
_SITE = Path(__file__).parents[1]


def main() -> None:
    """Runs the command, or says which package isn't ours."""
    end_by_sigterm()
    if (stranger := foreign_package(_SITE)) is not None:
        print(
            f"metatide: {stranger} is not Metatide's but of another distribution or folder; "
            "install Metatide in an environment of its own, and start it elsewhere than there",
            file=sys.stderr,
        )
        sys.exit(1)
    from metatide.cli import main

    main()


def foreign_package(site: Path) -> Path | None:
    """The file that would be imported in place of a package of ours, or has replaced it."""
    hashes = _installed_hashes()
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        ours = site / name / "__init__.py"
        if spec is None or spec.origin is None or not ours.exists():
            return ours
        if not ours.samefile(spec.origin):
            return Path(spec.origin)
        expected = hashes.get(f"{name}/__init__.py")
        if expected is not None and expected != _hash(ours):
            return ours
    return None


def _installed_hashes() -> Mapping[str, str]:
    """The hashes of the installed files by their paths; of an editable installation, few."""
    try:
        record = importlib.metadata.distribution("metatide").read_text("RECORD")
    except importlib.metadata.PackageNotFoundError:
        return {}
    return {row[0]: row[1] for row in csv.reader((record or "").splitlines())}


def _hash(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
