"""The part of a metastore's client that opens transactions and knows what they may read."""

import socket
from typing import Any

from tests.support.hive import idl

NONE_OPEN = 2**63 - 1


class Transactions:
    """Opens and ends transactions. `rpc` has every call of the interface, `t` its types."""

    def __init__(self, rpc: Any) -> None:
        self.rpc = rpc
        self.t = idl.load()

    def open_transactions(self, count: int, type_: int | None = None) -> list[int]:
        """Opens transactions; `type_` is one of `t.TxnType`."""
        request = self.t.OpenTxnRequest(
            num_txns=count,
            user="hive",
            hostname=socket.gethostname(),
            txn_type=self.t.TxnType.DEFAULT if type_ is None else type_,
        )
        return list(self.rpc.open_txns(request).txn_ids)

    def open_transaction(self, type_: int | None = None) -> int:
        return self.open_transactions(1, type_)[0]

    def allocate_write_id(self, transaction: int, database: str, table: str) -> int:
        request = self.t.AllocateTableWriteIdsRequest(
            dbName=database, tableName=table, txnIds=[transaction]
        )
        return int(self.rpc.allocate_table_write_ids(request).txnToWriteIds[0].writeId)

    def commit(self, transaction: int) -> None:
        self.rpc.commit_txn(self.t.CommitTxnRequest(txnid=transaction))

    def abort(self, transaction: int) -> None:
        self.rpc.abort_txn(self.t.AbortTxnRequest(txnid=transaction))

    def valid_transactions(self, transaction: int | None = None) -> str:
        """The text of a ValidReadTxnList for a transaction, or for a reader that begins now."""
        answer = self.rpc.get_open_txns()
        hwm = answer.txn_high_water_mark
        listed = list(
            zip(answer.open_txns, _bits(answer.abortedBits, answer.open_txns), strict=True)
        )
        if transaction is not None:
            hwm = min(hwm, transaction)
            listed = [(id_, aborted) for id_, aborted in listed if id_ < transaction]
        return _text(hwm, listed)

    def valid_write_ids(
        self, database: str, table: str, valid_transactions: str | None = None
    ) -> str:
        """The text of a ValidReaderWriteIdList for this list of transactions, or for the current
        one.
        """
        name = f"{database}.{table}"
        request = self.t.GetValidWriteIdsRequest(
            fullTableNames=[name], validTxnList=valid_transactions
        )
        (answer,) = self.rpc.get_valid_write_ids(request).tblValidWriteIds
        ids = answer.invalidWriteIds
        listed = list(zip(ids, _bits(answer.abortedBits, ids), strict=True))
        return f"{name}:{_text(answer.writeIdHighWaterMark, listed)}"


def _bits(packed: bytes, of: list[int]) -> list[bool]:
    """Unpacks bits, the lowest of each byte first; trailing zero bytes may be cut off."""
    number = int.from_bytes(packed, "little")
    return [bool(number >> index & 1) for index in range(len(of))]


def _text(hwm: int, listed: list[tuple[int, bool]]) -> str:
    open_ = [id_ for id_, aborted in listed if not aborted]
    aborted_ = [id_ for id_, aborted in listed if aborted]
    parts = (",".join(map(str, ids)) for ids in (open_, aborted_))
    return ":".join([str(hwm), str(min(open_, default=NONE_OPEN)), *parts])
