"""Who may import whom, and that what is called pure has no way to do I/O."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "hive": set[str](),
    "state": {"hive"},
    "connectors": {"hive", "state"},
    "processors": {"hive", "state"},
    "query_api": {"hive", "state"},
    "metatide": {"hive", "state", "connectors", "processors", "query_api"},
    "metatide/client": set[str](),
}
OURS = {"hive", "state", "connectors", "processors", "query_api", "metatide", "tests", "benchmarks"}
PURE = [
    "hive/write_ids",
    "hive/thrift",
    "hive/events",
    "hive/filters",
    "hive/reader/rows",
    "processors/fold",
]
FLOORS = {
    "state/topic": ["records", "store", "image", "shard_reader"],
    "state/records": ["topic", "store", "image", "shard_reader"],
    "connectors/log": ["publish", "loads", "feed"],
    "connectors/publish": ["loads", "feed"],
    "processors/fold": ["worker", "consumer", "replay", "spark"],
    "processors/consumer": ["worker", "replay", "spark"],
    "processors/replay": ["worker", "consumer", "spark"],
    "query_api/latest": ["resolver", "database", "http", "thrift", "audit"],
    "query_api/database": ["resolver", "http", "thrift", "audit"],
    "query_api/resolver": ["database", "http", "thrift", "audit"],
    "query_api/http": ["thrift", "audit"],
    "query_api/thrift": ["http", "audit"],
    "query_api/thrift/protocol": [
        f"thrift.{room}"
        for room in ("connection", "http_transport", "java", "metastore", "methods", "sasl")
    ],
    "query_api/thrift/connection": ["thrift.methods", "thrift.metastore", "thrift.java"],
    "query_api/thrift/metastore": ["thrift.connection", "thrift.methods", "thrift.java"],
    "query_api/thrift/methods": ["thrift.connection", "thrift.metastore", "thrift.http_transport"],
    "metatide/config": ["stack", "doctor", "demo", "worker", "cli"],
    "metatide/stack": ["doctor", "worker", "cli"],
    "metatide/health": ["stack", "doctor", "demo", "worker", "cli"],
    "metatide/process": ["stack", "doctor", "demo", "worker", "spark", "cli"],
    "metatide/spark": ["doctor", "demo", "worker", "cli"],
    "metatide/demo": ["stack", "doctor", "worker", "cli"],
    "metatide/doctor": ["demo", "cli"],
    "metatide/worker": ["cli", "demo", "doctor"],
}
"""Rooms of a package, and the rooms above or beside that they import nothing from."""
IMPURE = {
    "asyncio",
    "confluent_kafka",
    "datetime",
    "faust",
    "httpx",
    "os",
    "pathlib",
    "random",
    "rocksdict",
    "secrets",
    "socket",
    "sqlalchemy",
    "subprocess",
    "threading",
    "time",
    "uuid",
}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The absolute names that a file imports, with the line."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = [*base, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*module, alias.name])) for alias in node.names)


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_only_what_the_architecture_allows(package: str) -> None:
    wrong = []
    for path in sorted((ROOT / package).rglob("*.py")):
        relative = path.relative_to(ROOT).as_posix()
        if package == "metatide" and relative.startswith("metatide/client/"):
            continue
        for line, module in imports(path):
            first = module.split(".")[0]
            own = module.replace(".", "/").startswith(package)
            if first in OURS and not own and first not in ALLOWED[package]:
                wrong.append(f"{relative}:{line} imports {module}")
    assert not wrong


def reached(package: str, paths: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    """What files import, themselves and through modules at the top of their package: the file that
    imports it, with the line.
    """
    waiting = sorted(paths)
    queued = set(waiting)
    while waiting:
        path = waiting.pop()
        for line, module in imports(path):
            yield path, line, module
            first, _, rest = module.partition(".")
            beside = ROOT / package / f"{rest.partition('.')[0]}.py"
            if first == package and beside not in queued and beside.exists():
                queued.add(beside)
                waiting.append(beside)


@pytest.mark.parametrize("room", FLOORS)
def test_rooms_import_nothing_from_above(room: str) -> None:
    package = room.partition("/")[0]
    closed = tuple(f"{package}.{name}." for name in FLOORS[room])
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path, line, module in reached(package, (ROOT / room).rglob("*.py"))
        if f"{module}.".startswith(closed)
    ]
    assert not wrong


def private_imports(path: Path) -> Iterator[tuple[int, str]]:
    """The names with an underscore that a file imports from a module of ours, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            for alias in node.names:
                if alias.name.startswith("_"):
                    yield node.lineno, alias.name


def test_private_names_stay_in_their_modules() -> None:
    packages = [package for package in ALLOWED if "/" not in package]
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        for line, name in private_imports(path)
    ]
    assert not wrong


def test_nothing_imports_a_module_with_tests() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in sorted(OURS)
        for path in (ROOT / package).rglob("*.py")
        for line, name in imports(path)
        if any(part.startswith("test_") for part in name.split("."))
    ]
    assert not wrong


def test_connectors_know_of_the_state_only_its_records_their_topic_and_traces() -> None:
    allowed = ("state.records", "state.topic", "state.tracing")
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in (ROOT / "connectors").rglob("*.py")
        for line, module in imports(path)
        if module.startswith("state") and not module.startswith(allowed)
    ]
    assert not wrong


def metatide_imports(room: str) -> Iterator[tuple[str, str]]:
    """What other rooms of metatide import of one: where, and what."""
    for path in sorted((ROOT / "metatide").rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        if not where.startswith(f"metatide/{room}/"):
            for line, module in imports(path):
                if module.startswith(f"metatide.{room}."):
                    yield f"{where}:{line}", module


def test_only_its_command_knows_the_demo() -> None:
    wrong = [
        f"{where} imports {module}"
        for where, module in metatide_imports("demo")
        if not where.startswith("metatide/cli/demo.py:")
    ]
    assert not wrong


def test_others_know_of_the_stack_only_what_runs_where_and_what_the_machine_has() -> None:
    shown = ("java", "jars", "logs", "machine", "metastore.own_classes", "running", "state", "up")
    wrong = [
        f"{where} imports {module}"
        for where, module in metatide_imports("stack")
        if not f"{module}.".startswith(tuple(f"metatide.stack.{name}." for name in shown))
    ]
    assert not wrong


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_have_no_way_to_do_io(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in (ROOT / package).rglob("*.py")
        for line, module in imports(path)
        if module.split(".")[0] in IMPURE
    ]
    assert not wrong
