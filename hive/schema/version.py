"""The versions of the metastore's schema."""

import re
from enum import IntEnum

from hive.errors import InputError


class Version(IntEnum):
    """A version of the schema, ordered by age. Newer releases add nothing that is read here."""

    V3_1 = 301
    V4_0 = 400
    V4_1 = 401

    @property
    def release(self) -> str:
        """The SCHEMA_VERSION in a database of this version."""
        return {Version.V3_1: "3.1.0", Version.V4_0: "4.0.0", Version.V4_1: "4.2.0"}[self]


def parse_release(release: str) -> Version:
    """The version that a SCHEMA_VERSION stands for."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(-\w+(?:-\d+)?)?", release)
    if match:
        major, minor, patch = (int(part) for part in match.group(1, 2, 3))
        stage = match[4] or ""
        # Vendors number their own schemas from 3.1.1000 on, which are neither 3.1 nor 4.0.
        if (major, minor) in ((3, 1), (3, 2)) and patch < 1000:
            return Version.V3_1
        if (major, minor) == (4, 0) and not stage.startswith("-alpha"):
            return Version.V4_0
        if major == 4 and minor >= 1:
            return Version.V4_1
    raise InputError(
        f"the metastore's database says schema version {release!r}; "
        "Metatide follows 4.0 and later 4.x: upgrade it with Hive's schematool"
    )
