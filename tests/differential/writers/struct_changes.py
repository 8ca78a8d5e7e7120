"""Changes of structs, as scripts write them."""

from collections.abc import Mapping
from typing import Any

from tests.support.hive import idl

Change = Mapping[str, Any]
"""New values by field. `set` and `unset` change parameters; `columns`, `add`, `serde` and `storage`
change the storage descriptor."""


def change(value: Any, by: Change) -> Any:
    """Changes a struct in place; returns it."""
    for field, new in by.items():
        match field:
            case "set":
                value.parameters = {**(value.parameters or {}), **new}
            case "unset":
                others = {key: one for key, one in (value.parameters or {}).items() if key != new}
                value.parameters = others
            case "columns":
                value.sd.cols = _columns(new)
            case "add":
                value.sd.cols = [*value.sd.cols, *_columns(new)]
            case "serde":
                for name, new_value in new.items():
                    setattr(value.sd.serdeInfo, name, new_value)
            case "storage":
                for name, new_value in new.items():
                    setattr(value.sd, name, new_value)
            case _:
                setattr(value, field, new)
    return value


def _columns(types: Mapping[str, str]) -> list[Any]:
    t = idl.load()
    return [t.FieldSchema(name=name, type=type_, comment="") for name, type_ in types.items()]
