"""The list of transactions that a reader of Hive sends, where the metastore makes it."""

from hive.write_ids.lists import WriteIdList, write_id_list


def valid_txns(txns: WriteIdList, reader: int) -> WriteIdList:
    """What the transaction `reader` sees: the transactions committed before it began, and
    itself."""
    return write_id_list(
        min(reader, txns.hwm),
        txns.open.between(1, reader - 1),
        txns.aborted.between(1, reader - 1),
    )
