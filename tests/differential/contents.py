"""What the objects of a run are, as the metastore shows them now."""

from thriftpy2.thrift import TException

from tests.differential.names import DATABASES, Names
from tests.differential.questions import Known
from tests.query_api.thrift.methods.corpus import shown
from tests.support.hms_client import HmsClient

Place = tuple[str, str]


class Contents:
    """Asks a metastore; names are short ones outside and full ones in what is known of a table."""

    def __init__(self, client: HmsClient, names: Names) -> None:
        self._client = client
        self._names = names

    def databases(self) -> list[str]:
        there = set(self._client.rpc.get_all_databases())
        return [db for db in DATABASES if self._names.full(db) in there]

    def tables(self) -> dict[Place, list[str]]:
        """With the names of their partitions."""
        return {
            (db, self._names.short(name)): self._partitions(self._names.full(db), name)
            for db in self.databases()
            for name in sorted(self._client.rpc.get_all_tables(self._names.full(db)))
        }

    def known(self, place: Place) -> Known | None:
        db, name = map(self._names.full, place)
        return self.of(db, name)

    def of(self, db: str, name: str) -> Known | None:
        """The same by full names."""
        try:
            table = shown(self._client, db, name)
        except TException:
            return None
        partitions = self._partitions(db, name)
        return Known(
            db,
            name,
            tuple(key.name for key in table.partitionKeys),
            tuple(column.name for column in table.sd.cols),
            tuple(partitions),
            tuple(tuple(self._client.rpc.partition_name_to_vals(one)) for one in partitions),
            self._client.valid_write_ids(db, name),
            -1 if table.id is None else table.id,
        )

    def _partitions(self, db: str, name: str) -> list[str]:
        try:
            return list(self._client.rpc.get_partition_names(db, name, -1))
        except TException:
            return []
