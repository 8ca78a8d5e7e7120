"""Records in a line each, for people who read a failing example."""

from hive.names import TableName
from state import records
from state.records import AnyRecord, Change, LoadBegin, LoadEnd, LoadRows, Scope
from state.records.objects import TableImage


def record(one: AnyRecord) -> str:
    """What a record says, in short."""
    epoch = f"epoch {one.epoch} " if one.epoch else ""
    match one:
        case Change():
            part = f" part {one.part + 1}/{one.parts}" if one.parts > 1 else ""
            said = "; ".join(map(_action, one.actions)) or "nothing"
            return f"{epoch}({one.after}, {one.upto}]{part}: {said}"
        case LoadBegin():
            return f"{epoch}{one.load} begins, {_scope(one.scope)}"
        case LoadRows():
            rows = [f"{getattr(one.rows, f)}" for f in one.rows.__struct_fields__]
            found = " ".join(row for row in rows if row != "()") or "no rows"
            return f"{epoch}{one.load} chunk {one.number} as of {one.lo}: {found}"
        case LoadEnd():
            return f"{epoch}{one.load} ends, read from {one.lo} to {one.hi}"
        case records.Reset():
            return f"reset to epoch {one.epoch} after {one.at}"
        case _:
            return f"{epoch}{one}"


def _scope(scope: Scope) -> str:
    return f"{scope.kind.value} {'.'.join(filter(None, scope.name[1:]))}"


def _action(action: object) -> str:
    fields = [
        f"{field}={_value(getattr(action, field))}"
        for field in action.__struct_fields__  # type: ignore[attr-defined]
    ]
    return f"{type(action).__name__} {' '.join(fields)}"


def _value(value: object) -> str:
    match value:
        case TableImage():
            return f"[{value.name.in_catalog} id {value.id} write id {value.write_id}]"
        case TableName():
            return value.in_catalog
        case _:
            return str(value)
