"""Lists of transactions and write ids are those of a real metastore, byte for byte."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import detect_followed, metadata
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.reasons import Reason, Source
from query_api.thrift.call import CallAnswer, RelayReason
from query_api.thrift.methods import CachedMethods
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import ask, whole
from tests.query_api.thrift.methods.corpus import Call, call, req
from tests.support.hive import hms_objects as objects
from tests.support.hive import matrix
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.matrix import Row

DB = "moving"
TABLES = ("a", "b", "c_1")
STEPS = 60
READ_ONLY = 2


class History:
    """Transactions at random. Rows vanish as the metastore's own cleaning deletes them."""

    def __init__(self, client: HmsClient, url: str, seed: int) -> None:
        self._client = client
        self._random = Random(seed)
        self._engine = unpooled_engine(url)
        with self._engine.connect() as connection:
            version = detect_followed(connection)
        assert version is not None
        self._tables = metadata(version).tables
        self.open: list[int] = []
        self._readers: set[int] = set()
        self._steps: tuple[Callable[[], None], ...] = (
            *(self._begin, self._begin, self._write, self._write, self._write),
            *(self._end, self._end, self._read, self._clean, self._skip),
        )

    def close(self) -> None:
        self._engine.dispose()

    def go_on(self) -> None:
        self._random.choice(self._steps)()

    def _begin(self) -> None:
        self.open += self._client.open_transactions(self._random.choice((1, 1, 3)))

    def _read(self) -> None:
        self._readers.update(txns := self._client.open_transactions(1, READ_ONLY))
        self.open += txns

    def _write(self) -> None:
        txns = [txn for txn in self.open if txn not in self._readers]
        if txns:
            txn = self._random.choice(txns)
            self._client.allocate_write_id(txn, DB, self._random.choice(TABLES))

    def _end(self) -> None:
        if self.open:
            txn = self.open.pop(self._random.randrange(len(self.open)))
            self._random.choice((self._client.commit, self._client.abort))(txn)

    def _clean(self) -> None:
        """Deletes the write ids of committed transactions, as the housekeeper does."""
        txns, ids = self._tables["TXNS"], self._tables["TXN_TO_WRITE_ID"]
        unfinished = sa.select(txns.c.TXN_ID).where(txns.c.TXN_STATE != "c")
        with self._engine.begin() as connection:
            connection.execute(sa.delete(ids).where(ids.c.T2W_TXNID.not_in(unfinished)))

    def _skip(self) -> None:
        """Leaves a hole among the ids, as a client whose transaction could not be opened."""
        txns = self._tables["TXNS"]
        row = {"TXN_STATE": "o", "TXN_STARTED": 1, "TXN_LAST_HEARTBEAT": 1}
        with self._engine.begin() as connection:
            result = connection.execute(sa.insert(txns).values(**row, TXN_USER="x", TXN_HOST="x"))
            assert result.inserted_primary_key is not None
            (id_,) = result.inserted_primary_key
            connection.execute(sa.delete(txns).where(id_ == txns.c.TXN_ID))


def questions(client: HmsClient, txns: Sequence[int]) -> Iterator[Call]:
    yield call("get_open_txns")
    yield call("get_open_txns_info")
    for types in ([], [READ_ONLY], [0, 3]):
        yield req("get_open_txns_req", "GetOpenTxnsRequest", excludeTxnTypes=types)
    names = [f"{DB}.{table}" for table in (*TABLES, "no_such")]
    for reader in (None, *(client.valid_transactions(txn) for txn in txns[-3:])):
        for chosen in (names, names[:1]):
            fields = {"fullTableNames": chosen, "validTxnList": reader}
            yield req("get_valid_write_ids", "GetValidWriteIdsRequest", **fields)


async def same(cache: CachedMethods, metastore: wire.RawClient, question: Call) -> bool:
    """Compares the answers to a question; returns whether there was one from here."""
    while True:
        ours = await ask(cache, question)
        if not isinstance(ours, CallAnswer):
            assert ours.reason is RelayReason.FORM
            return False
        before = metastore.call(question.method, question.given)
        ours = await ask(cache, question)
        # A hole among the ids is an open transaction only for a while.
        if before == metastore.call(question.method, question.given):
            break
    assert isinstance(ours, CallAnswer)
    assert (ours.source, ours.reason) == (Source.DATABASE, Reason.DATABASE_ONLY)
    assert whole(ours) == before, wire.result(question.method, whole(ours))
    return True


@pytest.mark.by_turns(5)
@pytest.mark.parametrize("row", matrix.parameters(matrix.FOLLOWED))
async def test_random_transactions(request: pytest.FixtureRequest, row: Row) -> None:
    with matrix.running(request, row, 1) as metastores, metastores.connect() as client:
        client.create_database(DB)
        for table in TABLES:
            client.create_table(objects.table(DB, table, {"id": "int"}))
        url, address = metastores.database_url, metastores.addresses[0]
        history, primary = History(client, url, seed=11), Primary(url)
        compared: dict[str, int] = {}
        try:
            with caches.following(url) as none, wire.connect(address) as metastore:
                cache = caches.methods(none, primary, Consistency.LATEST, "")
                for _ in range(STEPS):
                    history.go_on()
                    for question in questions(client, history.open):
                        if await same(cache, metastore, question):
                            compared[question.method] = compared.get(question.method, 0) + 1
        finally:
            history.close()
            await primary.close()
    # While there is a hole among the ids, this one is left to the metastore: by the clock.
    assert compared.pop("get_open_txns_info") > 0
    assert min(compared.values()) > STEPS / 6
    assert len(compared) == 3
