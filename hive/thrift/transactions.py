"""The structs of transactions and write ids, with the field ids of Hive's IDL."""

from hive.thrift.types import ListOf, Struct, binary, i32, i64, string

OPEN_TXNS = Struct(
    "GetOpenTxnsResponse",
    (1, "txn_high_water_mark", i64),
    (2, "open_txns", ListOf(i64)),
    (3, "min_open_txn", i64),
    (4, "abortedBits", binary),
)
TXN_INFO = Struct(
    "TxnInfo",
    (1, "id", i64),
    (2, "state", i32),
    (3, "user", string),
    (4, "hostname", string),
    (5, "agentInfo", string),
    (6, "heartbeatCount", i32),
    (7, "metaInfo", string),
    (8, "startedTime", i64),
    (9, "lastHeartbeatTime", i64),
)
OPEN_TXNS_INFO = Struct(
    "GetOpenTxnsInfoResponse",
    (1, "txn_high_water_mark", i64),
    (2, "open_txns", ListOf(TXN_INFO)),
)
TABLE_VALID_WRITE_IDS = Struct(
    "TableValidWriteIds",
    (1, "fullTableName", string),
    (2, "writeIdHighWaterMark", i64),
    (3, "invalidWriteIds", ListOf(i64)),
    (4, "minOpenWriteId", i64),
    (5, "abortedBits", binary),
)
