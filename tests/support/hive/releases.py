"""The releases of Hive whose metastores the tests run, beside the one that Metatide includes."""

from collections.abc import Mapping
from pathlib import Path

from hive.schema import Version
from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.jars import JarSet
from metatide.stack.metastore import HIVE_4_2, Release, java_21
from tests.support.hive import listener
from tests.support.javas import java_11

_SETS = Path(__file__).parents[1] / "jarsets"
NEWEST = "4.2.0"
# In older releases, this key has another name; without it, only proxy users of Hadoop may read
# events.
_READABLE = {"hive.metastore.event.db.notification.api.auth": "false"}
_JSON = "org.apache.hadoop.hive.metastore.messaging.json"


def class_path(name: str) -> str:
    """The jars of this release, and those of 4.2 that it doesn't replace by another version."""
    own = JarSet.load(f"hive-{name}", _SETS)
    folder = jars.install(own, cache_dir() / "jars")
    replaced = {(jar.artifact.group, jar.artifact.name) for jar in own.jars}
    shared = jars.fetch("hive")
    others = [
        shared / jar.artifact.file_name
        for jar in JarSet.load("hive").jars
        if (jar.artifact.group, jar.artifact.name) not in replaced
    ]
    return ":".join([f"{folder}/*", *map(str, others)])


RELEASES: Mapping[str, Release] = {
    "3.1.3": Release(
        Version.V3_1,
        lambda: class_path("3.1.3"),
        java_11,
        {
            **_READABLE,
            # It can't write messages in another way, and doesn't know any of the chores.
            "metastore.event.message.factory": f"{_JSON}.JSONMessageFactory",
            "metastore.task.threads.remote": "",
        },
    ),
    "4.0.1": Release(
        Version.V4_0, lambda: f"{listener.classes()}:{class_path('4.0.1')}", java_21, _READABLE
    ),
    "4.1.0": Release(Version.V4_1, lambda: class_path("4.1.0"), java_21),
    NEWEST: HIVE_4_2,
}
