"""The parameters of reads as the OpenAPI document describes them."""

from typing import Any, Final

from query_api.consistency import Consistency
from query_api.http.endpoints import TABLE, Named
from query_api.requirement import AGE_MS_MAX, WAIT_MS_MAX

TEXT: Final[dict[str, Any]] = {"type": "string"}
_PARAMETERS: Final[dict[str, tuple[str, dict[str, Any], Any]]] = {
    "consistency": (
        "How fresh the answer must be. Without it: write_ids when a list and a positive table id "
        "are given, else what the deployment sets, which is latest unless it says otherwise. "
        "at_least needs min_position; write_ids is for reads of one table. In the header, "
        "`within; max_age_ms=100` names the age as well.",
        {"type": "string", "enum": list(Consistency)},
        "latest",
    ),
    "write_ids": (
        "The ValidReaderWriteIdList by which the caller reads; also in short, as [12:7,8,12].",
        TEXT,
        "sales.orders:2:9223372036854775807::",
    ),
    "table_id": ("The id of the table as the caller knows it.", {"type": "integer"}, 1),
    "accept_newer": (
        "With write_ids: the answer may contain more commits than the list.",
        {"type": "boolean"},
        True,
    ),
    "min_position": (
        "The answer must be at least as new as this Metatide-Position.",
        {"type": "string", "pattern": "^[0-9]+:[0-9]+$"},
        "0:12",
    ),
    "max_wait_ms": (
        "How long to wait for the cache before asking the database.",
        {"type": "integer", "minimum": 0, "maximum": WAIT_MS_MAX},
        50,
    ),
    "max_age_ms": (
        "With within, which it implies: the answer may lack what was committed in so many "
        "milliseconds before the request. Without it, the age that the deployment sets.",
        {"type": "integer", "minimum": 1, "maximum": AGE_MS_MAX},
        100,
    ),
    "catalog": ("The catalog; hive by default.", TEXT, "hive"),
    "pattern": (
        "A pattern of names as in Hive: * for any characters, | between alternatives.",
        TEXT,
        "or*|sa*|to_*",
    ),
    "database": ("A pattern of names of databases, in the same form.", TEXT, "sales*"),
    "type": ("A table type; may be repeated.", TEXT, "MANAGED_TABLE"),
    "after": (
        "The name after which the page begins: the field `next` of the previous page.",
        TEXT,
        "",
    ),
    "limit": ("How many at most.", {"type": "integer", "minimum": 1}, 100),
    "filter": (
        "A filter as Hive's get_partitions_by_filter takes it; instead of prefix and name.",
        TEXT,
        "ds >= '2026-01-01'",
    ),
    "prefix": (
        "The first values of partitions, each once; empty: any. Instead of filter and name.",
        TEXT,
        "2026-01-01",
    ),
    "column": ("The name of a column; may be repeated.", TEXT, "amount"),
    "engine": ("The engine that computed the statistics.", TEXT, "hive"),
    "txns": ("A ValidTxnList; by default that of a reader who begins now.", TEXT, "12:7:7:"),
}
_REPEATED: Final = frozenset(("type", "prefix", "name", "column", "table"))
_PATH: Final = {"db": "sales", "table": "orders", "name": "ds=2026-01-01", "function": "to_euro"}


def in_query(name: str, named: Named = TABLE, *, required: bool = False) -> dict[str, Any]:
    """A parameter in the query; `named` describes what a name refers to in this read."""
    names = f"{named.what}; may be repeated.", TEXT, named.example
    description, schema, example = _PARAMETERS.get(name, names)
    repeated = name in _REPEATED
    return {
        "name": name,
        "in": "query",
        **({"required": True} if required else {}),
        "description": description,
        "schema": {"type": "array", "items": schema} if repeated else schema,
        "example": [example] if repeated else example,
    }


def in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": TEXT, "example": _PATH[name]}
