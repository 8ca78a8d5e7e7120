"""Calls that give transactions and write ids.

The answers depend on the rows of all transactions, of which the log tells only a part (those that
write nothing have no event), so the database answers.
"""

import re
from typing import Final

from hive.errors import InputError
from hive.names import TableName, default_catalog
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.write_ids import READ_ONLY, StoredTxn, read_stored_txns, read_txns, read_write_ids
from hive.thrift.binary import encode
from hive.thrift.transactions import OPEN_TXNS, OPEN_TXNS_INFO, TABLE_VALID_WRITE_IDS
from hive.write_ids.bit_set import print_bit_set
from hive.write_ids.lists import LONG_MAX, WriteIdList
from hive.write_ids.snapshot import TxnState, Uncommitted, uncommitted, valid_write_ids
from hive.write_ids.text import parse_txn_list
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.direct_read import DirectRead
from query_api.thrift.methods.outcome import Outcome, structs
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood, refuse_unknown

_FULL_NAME: Final = re.compile("[a-z0-9_]{1,128}[.][a-z0-9_]{1,256}")
"""Names that mean the same in every collation."""
_DEFAULT_TYPE: Final = 0
_STATES: Final = {TxnState.OPEN: 3, TxnState.ABORTED: 2}
_AGENT: Final = "Unknown"
"""The agent that the metastore shows for every transaction."""


class OpenTxns(DirectRead, frozen=True):
    """The ids of the transactions that aren't committed."""

    timeout_ms: int
    excluded: tuple[int, ...] = (READ_ONLY,)
    """Transactions of these types aren't listed; the least open id counts them all the same."""

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        txns = uncommitted(read_stored_txns(snapshot), self.timeout_ms)
        listed = [(row.txn, row.state) for row in txns.rows if row.type not in self.excluded]
        if _DEFAULT_TYPE not in self.excluded:
            listed = sorted([*listed, *((hole, TxnState.OPEN) for hole in txns.holes)])
        places = [place for place, (_, state) in enumerate(listed) if state is TxnState.ABORTED]
        fields = {
            "txn_high_water_mark": txns.hwm,
            "open_txns": [txn for txn, _ in listed],
            "min_open_txn": _least_open(txns),
            "abortedBits": print_bit_set(places),
        }
        return encode(OPEN_TXNS, fields)


class OpenTxnsInfo(DirectRead, frozen=True):
    """The transactions that aren't committed, with those who opened them."""

    timeout_ms: int

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        txns = uncommitted(read_stored_txns(snapshot), self.timeout_ms)
        if txns.holes:
            # The metastore fails on a transaction without a user.
            return RelayReason.FORM
        infos = [
            {
                "id": row.txn,
                "state": _STATES[row.state],
                "user": row.user,
                "hostname": row.host,
                "agentInfo": _AGENT,
                "startedTime": row.started_ms,
                "lastHeartbeatTime": row.heartbeat_ms,
            }
            for row in txns.rows
        ]
        return encode(OPEN_TXNS_INFO, {"txn_high_water_mark": txns.hwm, "open_txns": infos})


class ValidWriteIds(DirectRead, frozen=True):
    """The write ids of tables that a reader sees."""

    tables: tuple[str, ...]
    txns: str | None
    """The reader's list of transactions; None for a reader that begins now."""
    timeout_ms: int

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        if self.txns is None:
            txns = read_txns(snapshot, self.timeout_ms)
        else:
            txns = parse_txn_list(self.txns)
        names = {text: TableName(default_catalog(), *text.split(".")) for text in self.tables}
        rows_of = read_write_ids(snapshot, list(names.values()))
        lists = {
            text: valid_write_ids(txns, rows_of[name].given, rows_of[name].next, text)
            for text, name in names.items()
        }
        return structs([_encoded(text, lists[text]) for text in self.tables])


OF_TRANSACTIONS: Final = OpenTxns, OpenTxnsInfo, ValidWriteIds


def get_open_txns(arguments: Arguments, timeout_ms: int | None) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(OpenTxns(_required(timeout_ms)))


def get_open_txns_req(arguments: Arguments, timeout_ms: int | None) -> Understood:
    request = arguments["getOpenTxnsRequest"]
    refuse_unknown(request)
    if "excludeTxnTypes" not in request:
        raise InputError("a request on which the metastore fails")
    return CacheRequest(OpenTxns(_required(timeout_ms), tuple(request["excludeTxnTypes"])))


def get_open_txns_info(arguments: Arguments, timeout_ms: int | None) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(OpenTxnsInfo(_required(timeout_ms)))


def get_valid_write_ids(arguments: Arguments, timeout_ms: int | None) -> Understood:
    request = arguments["rqst"]
    refuse_unknown(request)
    if "writeId" in request:
        raise InputError("a request for the reader that holds a write id")
    tables = request["fullTableNames"]
    if not all(map(_FULL_NAME.fullmatch, tables)):
        raise InputError("a name that isn't a table's in its stored form")
    txns = request.get("validTxnList")
    return CacheRequest(
        ValidWriteIds(tuple(tables), txns, _required(timeout_ms) if txns is None else 0)
    )


def _required(timeout_ms: int | None) -> int:
    if timeout_ms is None:
        raise InputError("the metastore hasn't told how long an id may lack its row")
    return timeout_ms


def _least_open(txns: Uncommitted[StoredTxn]) -> int | None:
    open_ids = (row.txn for row in txns.rows if row.state is TxnState.OPEN)
    return min((*txns.holes, *open_ids), default=None)


def _encoded(table: str, ids: WriteIdList) -> bytes:
    invalid = list(ids.exceptions)
    places = [place for place, id_ in enumerate(invalid) if id_ in ids.aborted]
    return encode(
        TABLE_VALID_WRITE_IDS,
        {
            "fullTableName": table,
            "writeIdHighWaterMark": ids.hwm,
            "invalidWriteIds": invalid,
            "minOpenWriteId": None if ids.min_open == LONG_MAX else ids.min_open,
            "abortedBits": print_bit_set(places),
        },
    )
