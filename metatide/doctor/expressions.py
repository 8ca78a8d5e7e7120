"""Checks that a worker can use Hive's classes to read the expressions of partition pruning."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from hive.errors import JavaError, MachineError
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.stack.java import find_java
from query_api.thrift.java.expressions import READER
from query_api.thrift.java.gateway import Gateway

_KEY = "thrift.hive_classpath"
_WITHOUT = "the metastore answers what Hive asks by serialized expressions"
_JARS = "*"


def readable(target: Target) -> Finding:
    """Reads an expression in the same way as a worker."""
    if target.hive_classpath is None:
        return unchecked(
            f"{_KEY} isn't set: {_WITHOUT}",
            "set it to the jars of your Hive, if the cache shall answer that, too",
        )
    entries = [entry for entry in target.hive_classpath.split(":") if entry]
    missing = [entry for entry in entries if not any(_files(entry))]
    if missing or not entries:
        return failed(
            f"{_KEY} names what isn't here: {', '.join(missing) or 'nothing'}",
            f"correct it on each machine of a worker; until then {_WITHOUT}",
        )
    try:
        java = target.hive_java or find_java()
        asyncio.run(_load(java, target.hive_classpath))
    except JavaError as error:
        return failed(
            f"the Java process of {_KEY} doesn't read expressions: {error}",
            f"name hive-exec with all that it needs in {_KEY}, and in thrift.hive_java a Java that "
            f"your Hive runs on (Hive 4.2: 21); until then {_WITHOUT}",
        )
    except MachineError as error:
        return failed(
            f"no Java runs what {_KEY} names: {error}", "set thrift.hive_java, or install one"
        )
    jars = sum(1 for entry in entries for _ in _files(entry))
    return ok(f"{java} loads Hive's classes, from {jars} file{'s' if jars > 1 else ''}")


def _files(entry: str) -> Iterator[Path]:
    """The files that an entry of a class path stands for, by Java's rules."""
    path = Path(entry)
    if path.name == _JARS:
        yield from path.parent.glob("*.[jJ][aA][rR]")
    elif path.exists():
        yield path


async def _load(java: Path, classpath: str) -> None:
    gateway = await Gateway.start(java, classpath)
    try:
        await gateway.new(READER)
    finally:
        await gateway.close()
