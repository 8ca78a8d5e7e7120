"""Releases of Hive whose metastores the tests run, beside the one that Metatide brings along."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from hive.schema import Version
from metatide.stack import jars
from metatide.stack.jars import JarSet
from metatide.stack.machine import file_lock, make_folder
from metatide.stack.metastore import HIVE_4_2, Release, java_21
from metatide.stack.paths import cache_dir
from tests.support.java_11 import java_11

_SETS = Path(__file__).with_name("jarsets")
_JSON = "org.apache.hadoop.hive.metastore.messaging.json"


def _class_path(name: str) -> str:
    """The jars of this release, and of 4.2 those that it doesn't have in another version."""
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


def _listeners_classes() -> str:
    """What the notification listener names in its signatures, which Hive 4.0 never hands to it."""
    package = "org/apache/hadoop/hive/metastore"
    names = (
        f"{package}/events/AlterPartitionsEvent",
        f"{package}/messaging/AlterPartitionsMessage",
    )
    (hive,) = jars.fetch("hive").glob("org.apache.hive_hive-exec-*.jar")
    folder = make_folder(cache_dir() / "jars" / f"listener-{hive.parent.name}")
    with zipfile.ZipFile(hive) as archive, file_lock(folder / ".lock"):
        for name in names:
            archive.extract(f"{name}.class", folder)
    return str(folder)


RELEASES: Mapping[str, Release] = {
    "3.1.3": Release(
        Version.V3_1,
        lambda: _class_path("3.1.3"),
        java_11,
        {
            # It knows no other way to write messages, and none of the chores by name.
            "metastore.event.message.factory": f"{_JSON}.JSONMessageFactory",
            "metastore.task.threads.remote": "",
        },
    ),
    "4.0.1": Release(
        Version.V4_0, lambda: f"{_class_path('4.0.1')}:{_listeners_classes()}", java_21
    ),
    "4.1.0": Release(Version.V4_1, lambda: _class_path("4.1.0"), java_21),
    "4.2.0": HIVE_4_2,
}
