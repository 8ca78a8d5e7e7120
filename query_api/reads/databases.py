"""Reads of databases and functions."""

from operator import itemgetter

from hive.errors import NoSuchObjectError
from hive.names import DatabaseName
from hive.patterns import compile_request_pattern
from query_api.objects import Objects
from query_api.reads.read import Page, Read, Slice, cut
from query_api.targets import Target, TargetKind, of_catalog, of_database

Named = tuple[str, bytes]
_name = itemgetter(0)


def details_of(objects: Objects, db: DatabaseName) -> tuple[Target, ...]:
    """The target of a database's details, if the database exists; otherwise none."""
    there = objects.database(db) is not None
    return (of_database(TargetKind.DATABASE_DETAILS, db),) if there else ()


class GetDatabase(Read[bytes], frozen=True):
    """One database."""

    db: DatabaseName

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_database(TargetKind.DATABASE, self.db),)

    def further(self, objects: Objects) -> tuple[Target, ...]:
        return details_of(objects, self.db)

    def answer(self, objects: Objects) -> bytes:
        data = objects.database(self.db)
        if data is None:
            raise NoSuchObjectError(f"there is no database {self.db.catalog}.{self.db.db}")
        return data


class ListDatabases(Read[Slice[Named]], frozen=True):
    """The databases of a catalog."""

    catalog: str
    pattern: str = "*"
    page: Page = Page()
    names_only: bool = False
    """Whether only the names are used."""

    @property
    def targets(self) -> tuple[Target, ...]:
        names = of_catalog(TargetKind.DATABASES, self.catalog)
        return (
            (names,)
            if self.names_only
            else (names, of_catalog(TargetKind.DATABASE_DETAILS, self.catalog))
        )

    @property
    def is_long(self) -> bool:
        return True

    def answer(self, objects: Objects) -> Slice[Named]:
        matches = compile_request_pattern(self.pattern).fullmatch
        lines = sorted(line for line in objects.databases(self.catalog) if matches(line[0]))
        return cut(lines, _name, self.page)


class GetFunction(Read[bytes], frozen=True):
    """One function."""

    db: DatabaseName
    name: str

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_database(TargetKind.FUNCTIONS, self.db),)

    def answer(self, objects: Objects) -> bytes:
        for name, data in objects.functions(self.db):
            if name == self.name:
                return data
        raise NoSuchObjectError(
            f"there is no function {self.name} in {self.db.catalog}.{self.db.db}"
        )


class ListFunctions(Read[Slice[Named]], frozen=True):
    """The functions of a database."""

    db: DatabaseName
    pattern: str = "*"
    page: Page = Page()

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_database(TargetKind.FUNCTIONS, self.db),)

    @property
    def is_long(self) -> bool:
        return True

    def answer(self, objects: Objects) -> Slice[Named]:
        matches = compile_request_pattern(self.pattern).fullmatch
        lines = sorted(line for line in objects.functions(self.db) if matches(line[0]))
        return cut(lines, _name, self.page)
