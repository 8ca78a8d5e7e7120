"""Records in a line each, for people who read a failing example."""

from hive.names import TableName
from state import records
from state.records import AnyRecord, Change, LoadBegin, LoadEnd, LoadRows, Scope
from state.records.objects import TableImage


def record(any_record: AnyRecord) -> str:
    """What a record says, in short."""
    epoch = f"epoch {any_record.epoch} " if any_record.epoch else ""
    match any_record:
        case Change():
            part = f" part {any_record.part + 1}/{any_record.parts}" if any_record.parts > 1 else ""
            said = "; ".join(map(_action, any_record.actions)) or "nothing"
            return f"{epoch}({any_record.after}, {any_record.upto}]{part}: {said}"
        case LoadBegin():
            return f"{epoch}{any_record.load} begins, {_scope(any_record.scope)}"
        case LoadRows():
            rows = [f"{getattr(any_record.rows, f)}" for f in any_record.rows.__struct_fields__]
            line = " ".join(row for row in rows if row != "()") or "no rows"
            return (
                f"{epoch}{any_record.load} chunk {any_record.number} as of {any_record.lo}: {line}"
            )
        case LoadEnd():
            return f"{epoch}{any_record.load} ends, read from {any_record.lo} to {any_record.hi}"
        case records.Reset():
            return f"reset to epoch {any_record.epoch} after {any_record.at}"
        case _:
            return f"{epoch}{any_record}"


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
