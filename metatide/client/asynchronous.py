"""The client for code with an event loop."""

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import httpx

from metatide.client import calls
from metatide.client.bound import DEFAULTS, Bound, Settings, http_settings
from metatide.client.calls import ALL, Call, Which
from metatide.client.constraint_objects import SQLAllTableConstraints
from metatide.client.lines import Lines
from metatide.client.need import Answer, Need
from metatide.client.objects import Database, Function, Partition, Table, TableMeta, WriteIds
from metatide.client.own_http import OwnHttp
from metatide.client.retry import RETRIED, RetryWaits
from metatide.client.snapshot import snapshot_of
from metatide.client.statistics_objects import ColumnStatisticsObj

T = TypeVar("T")


class AsyncClient(Bound):
    """Reads from a Metatide server with `await`.

    Each read takes a `Need`. Without it, the server's defaults apply, or the snapshot to which the
    client is bound. Tables are named `db.table` or `catalog.db.table`.
    """

    def __init__(self, url: str, settings: Settings = DEFAULTS) -> None:
        super().__init__(settings.retry_s)
        self._own_http = OwnHttp(httpx.AsyncClient, http_settings(url, settings))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, which sessions and snapshots share."""
        await self._own_http.client.aclose()

    def session(self) -> "AsyncClient":
        """A client for a session: its reads never show an older state than the reads before."""
        return self._copy(carries=True)

    async def snapshot(self, tables: Sequence[str], txns: str = "") -> "AsyncClient":
        """A client bound to one snapshot of these tables, fetched now or for a ValidTxnList."""
        answer = await self._run(calls.of_write_ids(tables, txns), None, None)
        return self._copy(snapshot=snapshot_of(tables, answer.value))

    async def after_write(self) -> None:
        """Makes the session's next reads show all that the metastore has committed by now."""
        self._require_session()
        await self.current_event()

    async def table(self, table: str, need: Need | None = None) -> Answer[Table]:
        """One table."""
        return await self._run(calls.of_table(table), table, need)

    async def tables(self, tables: Sequence[str], need: Need | None = None) -> Answer[list[Table]]:
        """Several tables; missing ones are left out."""
        return await self._run(calls.of_tables(tables), None, self._need_of_several(need))

    async def table_names(
        self,
        db: str,
        pattern: str = "*",
        types: Sequence[str] = (),
        after: str = "",
        limit: int | None = None,
        need: Need | None = None,
    ) -> Answer[list[TableMeta]]:
        """The names of a database's tables."""
        return await self._run(calls.of_names(db, pattern, types, after, limit), None, need)

    async def table_metadata(
        self,
        databases: str = "*",
        pattern: str = "*",
        types: Sequence[str] = (),
        after: str = "",
        catalog: str = "",
        limit: int | None = None,
        need: Need | None = None,
    ) -> Answer[list[TableMeta]]:
        """The metadata of tables in several databases, as lists show it."""
        call = calls.of_names_of_all(databases, catalog, pattern, types, after, limit)
        return await self._run(call, None, need)

    async def database(self, db: str, need: Need | None = None) -> Answer[Database]:
        """One database."""
        return await self._run(calls.of_database(db), None, need)

    async def databases(
        self,
        pattern: str = "*",
        catalog: str = "",
        after: str = "",
        limit: int | None = None,
        need: Need | None = None,
    ) -> Answer[list[Database]]:
        """The databases of a catalog."""
        return await self._run(calls.of_databases(pattern, catalog, after, limit), None, need)

    async def catalogs(self, need: Need | None = None) -> Answer[list[str]]:
        """All catalogs."""
        return await self._run(calls.CATALOGS, None, need)

    async def functions(
        self,
        db: str,
        pattern: str = "*",
        after: str = "",
        limit: int | None = None,
        need: Need | None = None,
    ) -> Answer[list[Function]]:
        """The functions of a database."""
        return await self._run(calls.of_functions(db, pattern, after, limit), None, need)

    async def function(self, db: str, function: str, need: Need | None = None) -> Answer[Function]:
        """One function."""
        return await self._run(calls.of_function(db, function), None, need)

    async def partition(self, table: str, name: str, need: Need | None = None) -> Answer[Partition]:
        """One partition by its name, such as `ds=2026-01-01/hr=7`."""
        return await self._run(calls.of_partition(table, name), table, need)

    async def partitions(
        self, table: str, which: Which = ALL, need: Need | None = None
    ) -> Answer[list[Partition]]:
        """A page of partitions, in the order of their names."""
        return await self._run(
            calls.of_partitions(table, "partitions", list[Partition], "partitions", which),
            table,
            need,
        )

    async def partition_names(
        self, table: str, which: Which = ALL, need: Need | None = None
    ) -> Answer[list[str]]:
        """A page of the names of partitions."""
        return await self._run(
            calls.of_partitions(table, "partition-names", list[str], "names", which), table, need
        )

    async def partition_count(
        self, table: str, which: Which = ALL, need: Need | None = None
    ) -> Answer[int]:
        """The number of partitions."""
        return await self._run(
            calls.of_partitions(table, "partition-count", int, "count", which), table, need
        )

    async def statistics(
        self, table: str, columns: Sequence[str] = (), engine: str = "", need: Need | None = None
    ) -> Answer[list[ColumnStatisticsObj]]:
        """The statistics of a table's columns."""
        return await self._run(calls.of_statistics(table, columns, engine), table, need)

    async def partition_statistics(
        self,
        table: str,
        names: Sequence[str],
        columns: Sequence[str] = (),
        engine: str = "",
        need: Need | None = None,
    ) -> Answer[dict[str, list[ColumnStatisticsObj]]]:
        """The column statistics of partitions."""
        return await self._run(
            calls.of_partition_statistics(table, names, columns, engine), table, need
        )

    async def aggregate_statistics(
        self,
        table: str,
        names: Sequence[str],
        columns: Sequence[str],
        engine: str = "",
        need: Need | None = None,
    ) -> Answer[list[ColumnStatisticsObj]]:
        """The statistics of columns, aggregated over several partitions."""
        return await self._run(calls.of_aggregates(table, names, columns, engine), table, need)

    async def constraints(
        self, table: str, need: Need | None = None
    ) -> Answer[SQLAllTableConstraints]:
        """The constraints of a table."""
        return await self._run(calls.of_constraints(table), table, need)

    async def write_ids(
        self, tables: Sequence[str], txns: str = "", need: Need | None = None
    ) -> Answer[WriteIds]:
        """The write-id lists and ids of tables, as of one moment, for a reader to pass on."""
        return await self._run(calls.of_write_ids(tables, txns), None, need)

    async def current_event(self, need: Need | None = None) -> Answer[int]:
        """The id of the last event of the metastore."""
        return await self._run(calls.CURRENT_EVENT, None, need)

    async def stream_partitions(
        self,
        table: str,
        which: Which = ALL,
        need: Need | None = None,
    ) -> AsyncIterator[Partition]:
        """All partitions, each yielded as it arrives."""
        call = calls.of_partitions(table, "partitions", list[Partition], "partitions", which)
        http = self._own_http.client
        request = call.request(http, self._need(table, need))
        request.headers["Accept"] = calls.LINES
        response = await http.send(request, stream=True)
        try:
            if response.status_code != 200:
                await response.aread()
            with self._seeing_absence():
                calls.check(response, calls.LINES)
            self._saw(calls.position_of(response))
            lines = Lines()
            async for block in response.aiter_bytes():
                for line in lines.feed(block):
                    yield calls.partition_in(line, response)
            for line in lines.rest():
                yield calls.partition_in(line, response)
        finally:
            await response.aclose()

    async def _run(self, call: Call[T], table: str | None, need: Need | None) -> Answer[T]:
        need, http = self._need(table, need), self._own_http.client
        waits = RetryWaits(self._retry_s)
        while True:
            try:
                with self._seeing_absence():
                    answer = call.read(await http.send(call.request(http, need)))
            except RETRIED as error:
                await waits.async_wait(error)
            else:
                self._saw(answer.position)
                return answer
