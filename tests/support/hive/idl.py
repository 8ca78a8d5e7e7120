"""Hive's Thrift interface, loaded from its own definition, independently of Metatide's."""

import base64
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import thriftpy2

from tests.support.hive import source as hive_source

# The definition includes Facebook's base service, which Hive's clients don't use.
_FB303 = """\
namespace py fb303
enum fb_status { DEAD = 0, STARTING = 1, ALIVE = 2, STOPPING = 3, STOPPED = 4, WARNING = 5 }
service FacebookService {
  string getName(),
  string getVersion(),
  fb_status getStatus(),
}
"""


@cache
def load() -> Any:
    """The module with all structs, enums and the service `ThriftHiveMetastore`."""
    with tempfile.TemporaryDirectory(prefix="metatide-idl-") as name:
        folder = Path(name)
        definition = folder / "hive_metastore.thrift"
        definition.write_text(
            hive_source.read("metastore-common/src/main/thrift/hive_metastore.thrift")
        )
        included = folder / "share" / "fb303" / "if" / "fb303.thrift"
        included.parent.mkdir(parents=True)
        included.write_text(_FB303)
        return thriftpy2.load(str(definition), module_name="hive_metastore_thrift")


def plain(value: Any) -> Any:
    """A struct as a dict of its fields, without unset ones; binary values become `base64:…`."""
    if isinstance(value, bytes):
        return f"base64:{base64.b64encode(value).decode()}"
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "thrift_spec"):
        return {
            name: plain(item)
            for _, name, *_ in sorted(value.thrift_spec.values(), key=lambda spec: spec[1])
            if (item := getattr(value, name)) is not None
        }
    return value
