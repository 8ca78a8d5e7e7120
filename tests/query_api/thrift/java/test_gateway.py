"""A process of Java whose methods are called: here those of the JDK itself."""

import asyncio
from pathlib import Path

import pytest

from hive.errors import JavaError
from metatide.stack.java import find_java
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
