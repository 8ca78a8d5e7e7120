"""A process of Java whose methods are called: here those of the JDK itself."""

import asyncio
from pathlib import Path

import psutil
import pytest

from hive.errors import JavaError
from metatide.stack.java import find_java
from metatide.stack.machine import LOOPBACK
from query_api.thrift.java.gateway import Gateway

TEXT = "a\\b\nc – \U0001f600"


async def test_methods_are_called_until_the_process_is_gone() -> None:
    gateway = await Gateway.start(find_java(), ".")
    try:
        builder = await gateway.new("java.lang.StringBuilder")
        assert await gateway.call(builder, "substring", True) is None
        # A reference is no text.
        assert await gateway.call(builder, "append", TEXT) is None
        assert await gateway.call(builder, "toString") == TEXT
        texts = await asyncio.gather(*(gateway.call(builder, "toString") for _ in range(20)))
        assert texts == [TEXT] * 20
        with pytest.raises(JavaError, match=r"no\.such\.Class was no object"):
            await gateway.new("no.such.Class")
        gateway._process.kill()
        await gateway._process.wait()
        with pytest.raises(JavaError, match="no answer"):
            await gateway.call(builder, "toString")
    finally:
        await gateway.close()
    assert gateway._process.returncode is not None


@pytest.mark.parametrize("program", ["/no/such/java", "/bin/false", "/bin/echo"])
async def test_what_is_no_java(program: str) -> None:
    with pytest.raises(JavaError, match=program):
        await Gateway.start(Path(program), ".")


def program(folder: Path, *lines: str) -> Path:
    """One that runs in place of Java's, and says in the file `pid` which process it is."""
    path = folder / "java"
    path.write_text("\n".join(("#!/bin/sh", f"echo $$ > {folder / 'pid'}", *lines)) + "\n")
    path.chmod(0o755)
    return path


async def process_of(folder: Path) -> int:
    async with asyncio.timeout(60):
        while not (folder / "pid").is_file() or not (folder / "pid").read_text().strip():
            await asyncio.sleep(0.005)
    return int((folder / "pid").read_text())


async def test_a_start_that_is_given_up_leaves_no_process(tmp_path: Path) -> None:
    starting = asyncio.create_task(Gateway.start(program(tmp_path, "exec sleep 600"), "."))
    process = await process_of(tmp_path)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with asyncio.timeout(60):
        while psutil.pid_exists(process):
            await asyncio.sleep(0.005)


async def test_what_classes_print_does_not_hold_them_up(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1_000):
            writer.write(b"!yv\n")
        writer.close()

    server = await asyncio.start_server(serve, LOOPBACK, 0)
    port = server.sockets[0].getsockname()[1]
    more_than_a_pipe_holds = "head -c 5000000 /dev/zero"
    done = tmp_path / "done"
    talkative = program(
        tmp_path,
        f"echo {port}; echo token",
        more_than_a_pipe_holds,
        f"touch {done}",
        "exec sleep 600",
    )
    gateway = await Gateway.start(talkative, ".")
    async with asyncio.timeout(60):
        while not done.is_file():
            await asyncio.sleep(0.005)
    await gateway.close()
    server.close()
