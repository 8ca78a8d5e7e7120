"""The notification listener of Hive 4.2 for a metastore of Hive 4.0, whose own isn't published.

It uses classes and methods that Hive 4.0 doesn't have. Those come from 4.2, but events of commits
and aborts get the constructors of 4.0, without write ids, so that messages are those of 4.0.
"""

import zipfile
from pathlib import Path

from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.machine import file_lock
from state.folders import make_folder
from tests.support.hive.class_files import with_constructor

_METASTORE = "org/apache/hadoop/hive/metastore"
_TAKEN = (
    *("events/AlterPartitionsEvent", "messaging/AlterPartitionsMessage"),
    *("messaging/MessageBuilder", "messaging/AbortTxnMessage"),
    "messaging/json/JSONAlterPartitionsMessage",
    *("messaging/json/JSONCommitTxnMessage", "messaging/json/JSONAbortTxnMessage"),
)
_BEGIN = f"(Ljava/lang/Long;L{_METASTORE}/api/TxnType;L{_METASTORE}/IHMSHandler;"
_LIST = "Ljava/util/List;"
_MADE_WITH = {
    "events/CommitTxnEvent": f"{_BEGIN})V",
    "events/AbortTxnEvent": f"{_BEGIN}{_LIST})V",
}


def classes() -> Path:
    """A folder for the class path, before the jar of Hive."""
    (hive,) = jars.fetch("hive").glob("org.apache.hive_hive-exec-*.jar")
    folder = make_folder(cache_dir() / "jars" / f"listener-{hive.parent.name}")
    with zipfile.ZipFile(hive) as archive, file_lock(folder / ".lock"):
        for name in (*_TAKEN, *_MADE_WITH):
            path = f"{_METASTORE}/{name}.class"
            data = archive.read(path)
            if name in _MADE_WITH:
                data = with_constructor(data, _MADE_WITH[name], f"{_BEGIN}{_LIST}{_LIST})V")
            make_folder((folder / path).parent)
            (folder / path).write_bytes(data)
    return folder
