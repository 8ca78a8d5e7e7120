"""Calls that give functions. `alter_function` writes no event, so the database answers."""

from hive.names import DEFAULT_CATALOG, DatabaseName
from hive.patterns import compile_request_pattern
from hive.reader.databases import read_function_names, read_functions
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.tables import named
from query_api.thrift.methods import names
from query_api.thrift.methods.databases import plain_pattern
from query_api.thrift.methods.direct_read import DirectRead
from query_api.thrift.methods.outcome import Outcome, Raised, structs, texts
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood, refuse_unknown


class FunctionNames(DirectRead, frozen=True):
    """The names of the functions of a database."""

    db: DatabaseName
    pattern: str

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        matches = compile_request_pattern(self.pattern, with_dots=True).fullmatch
        stored = read_function_names(snapshot, *named(snapshot, self.db))
        return texts([name for name in stored if matches(name)])


class GetFunction(DirectRead, frozen=True):
    """One function."""

    db: DatabaseName
    name: str
    missing: Raised

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        is_named = snapshot.tables["FUNCS"].c.FUNC_NAME == self.name
        stored = read_functions(snapshot, *named(snapshot, self.db), is_named)
        return stored[0].data if stored else self.missing


class AllFunctions(DirectRead, frozen=True):
    """The functions of all databases of the catalog `hive`, whatever the default catalog is."""

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        in_catalog = snapshot.tables["DBS"].c.CTLG_NAME == DEFAULT_CATALOG
        return structs([function.data for function in read_functions(snapshot, in_catalog)])


def get_functions(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    db = names.database(arguments.get("dbName"))
    return CacheRequest(FunctionNames(db, plain_pattern(arguments.get("pattern"))))


def get_function(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    db, name = arguments.get("dbName"), names.member(arguments.get("funcName"))
    missing = Raised("NoSuchObjectException", f"Function {db}.{name} does not exist")
    return CacheRequest(GetFunction(names.database(db), name, missing))


def get_all_functions(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(AllFunctions())
