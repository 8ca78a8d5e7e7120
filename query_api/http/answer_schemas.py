"""The schemas of answers that aren't structs of Hive's."""

from typing import Any, Final

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_COUNT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_NEXT: Final = {
    "type": ["string", "null"],
    "description": "The value of `after` for the next page; null on the last page",
}
_STATISTICS: Final = {
    "type": "array",
    "items": {"$ref": "#/components/schemas/ColumnStatisticsObj"},
}


def listed(field: str, item: dict[str, Any], *, paged: bool) -> dict[str, Any]:
    """An object with a list and the token of the next page."""
    more = {"next": _NEXT} if paged else {}
    return _object({field: {"type": "array", "items": item}, **more})


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_WRITE_IDS: Final = _object(
    {
        "fullTableName": _TEXT,
        "id": {
            "type": ["integer", "null"],
            "description": "The id of the table; null if there is no such table",
        },
        "validWriteIdList": {
            **_TEXT,
            "description": "The write ids that a reader sees: a ValidReaderWriteIdList as text",
        },
    }
)
ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "PartitionNames": listed("names", _TEXT, paged=True),
    "Count": _object({"count": _COUNT}),
    "TableMeta": _object(
        {
            "dbName": _TEXT,
            "tableName": _TEXT,
            "tableType": _TEXT,
            "ownerName": _TEXT,
            "comments": {"type": ["string", "null"]},
        },
        optional=("dbName",),
    ),
    "PartitionStatistics": _object(
        {
            "partStats": {
                "type": "object",
                "description": "The statistics of each partition, by its name",
                "additionalProperties": _STATISTICS,
            }
        }
    ),
    "AggregateStatistics": _object(
        {
            "colStats": _STATISTICS,
            "missing": {
                "type": "object",
                "description": "The fields that only Hive can compute, by the names of columns",
                "additionalProperties": {"type": "array", "items": _TEXT},
            },
        }
    ),
    "CatalogNames": listed("names", _TEXT, paged=False),
    "CurrentEvent": _object({"eventId": _COUNT}),
    "TableWriteIds": _WRITE_IDS,
    "WriteIds": _object(
        {
            "validTxnList": _TEXT,
            "tables": {"type": "array", "items": {"$ref": "#/components/schemas/TableWriteIds"}},
        }
    ),
}
