"""The parts of the Helm chart that follow from the declared configuration and from the dashboards:
its values.schema.json, and the files that its templates read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from metatide.config import KEYS, Key
from metatide.config.properties import Properties
from metatide.config.values import (
    DatabaseUrl,
    HttpUrl,
    LdapUrls,
    Principal,
    Servers,
    ThriftUrls,
    UserDn,
)
from metatide.monitoring.alerts import rules

ROOT: Final = Path(__file__).resolve().parents[1]
CHART: Final = ROOT / "deploy" / "helm" / "metatide"
SCHEMA: Final = CHART / "values.schema.json"
BY_THE_CHART: Final = frozenset(
    {
        "data_dir",
        "cache_dir",
        "http.host",
        "http.port",
        "thrift.host",
        "connect.name",
        "connect.host",
        "connect.port",
        "worker.name",
        "worker.host",
        "worker.port",
        "worker.advertised_host",
        "worker.advertised_port",
    }
)
"""What templates or the image decide, since probes, ports and names rest on it."""
OF_THE_STACK: Final = frozenset({"workers", "metastore", "secure"})
"""Keys of `metatide up`, which isn't for containers."""
_IN_THE_IMAGE: Final = frozenset({"thrift.hive_java"})
"""A path, but of the image."""
_SERVER: Final = r"([^\s,:/@\[\]]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}"
_PATTERNS: Final[Mapping[object, str]] = {
    Servers: rf"^{_SERVER}(,{_SERVER})*$",
    # A password belongs in a Secret.
    DatabaseUrl: r"^(postgresql|mysql)://([^:/@]+@)?[^@/]+(/.*)?$",
    ThriftUrls: r"^thrift://[^\s,/@]+:[0-9]{1,5}(, *thrift://[^\s,/@]+:[0-9]{1,5})*$",
    LdapUrls: r"^ldaps://[^\s,/@]+(, *ldaps://[^\s,/@]+)*$",
    Principal: r"^[^\s/@]+/[^\s/@]+@[^\s/@]+$",
    UserDn: r"\{user\}",
    HttpUrl: r"^https?://",
    Properties: r"^[a-z.]+=[^\s,]+(, *[a-z.]+=[^\s,]+)*$",
}


_OF_THE_RELEASE: Final = ('namespace="NAMESPACE"', 'service=~"FULLNAME-(connector|worker|serve)"')
"""What the Prometheus operator says of the series of a release, whose names the template sets."""


def generated(boards: Mapping[Path, str]) -> Mapping[Path, str]:
    """The files of the chart that are written, with copies of the dashboards."""
    return {
        SCHEMA: _schema(),
        CHART / "files" / "rules.yml": "# Written by `make docs`.\n"
        + yaml.safe_dump(rules(*_OF_THE_RELEASE), sort_keys=False, width=100),
        **{CHART / "files" / path.name: text for path, text in boards.items()},
    }


def _schema() -> str:
    """What is written by hand, with the keys of `config` and `files` as they are declared."""
    schema = json.loads(SCHEMA.read_text())
    schema["properties"]["config"] = _object({}, "Keys of docs/configuration.md by section.")
    schema["properties"]["files"] = _object({}, "Keys that name a file, with what holds it.")
    sections = schema["properties"]["config"]["properties"]
    files = schema["properties"]["files"]["properties"]
    for key in KEYS.values():
        if key.secret or key.name in BY_THE_CHART | OF_THE_STACK:
            continue
        if key.plain_type is Path and key.name not in _IN_THE_IMAGE:
            files[key.name] = {"$ref": "#/$defs/file", "description": key.doc}
            continue
        section, _, name = key.name.partition(".")
        properties = sections.setdefault(section, _object({}))["properties"]
        properties[name] = _value(key)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _value(key: Key) -> dict[str, Any]:
    schema = msgspec.json.schema(key.type, schema_hook=_text)
    # A key that isn't set is left out.
    kinds = [kind for kind in schema.pop("anyOf", []) if kind != {"type": "null"}]
    value = schema | (kinds[0] if kinds else {})
    value.pop("option", None)
    value.pop("default_text", None)
    if None in value.get("enum", []):
        value["enum"] = [choice for choice in value["enum"] if choice is not None]
    if key.name in ("thrift.port", "thrift.http_port"):
        # The port of reads over HTTP is 8080; 0 would take one that nobody knows.
        value |= {"minimum": 1, "not": {"const": 8080}}
    return value


def _text(kind: type) -> dict[str, Any]:
    pattern = _PATTERNS.get(kind)
    return {"type": "string", "minLength": 1} if pattern is None else _matching(pattern)


def _matching(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


def _object(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    about = {} if description is None else {"description": description}
    return about | {"type": "object", "additionalProperties": False, "properties": properties}
