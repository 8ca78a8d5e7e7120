"""The records of the topic: what connectors and processors must agree on."""

from state.records.codec import FORMAT_VERSION, decode, encode
from state.records.envelopes import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    OpenTransactions,
    Pause,
    Record,
    Reread,
    Reset,
    ResetTable,
    Rows,
    Scope,
    ScopeKind,
    SetLists,
)

__all__ = [
    "FORMAT_VERSION",
    "AnyRecord",
    "Change",
    "LoadBegin",
    "LoadEnd",
    "LoadRows",
    "OpenTransactions",
    "Pause",
    "Record",
    "Reread",
    "Reset",
    "ResetTable",
    "Rows",
    "Scope",
    "ScopeKind",
    "SetLists",
    "decode",
    "encode",
]
