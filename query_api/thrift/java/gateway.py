"""Calls methods in a Java process, over Py4J's server on a local socket.

Py4J's own client blocks, waits without a limit and logs through the root logger, so only its server
and its protocol are used.
"""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from py4j import protocol
from py4j.java_gateway import find_jar_path

from hive.errors import JavaError

START_TIMEOUT_S: Final = 30.0
CALL_TIMEOUT_S: Final = 5.0
ANSWER_BYTES_MAX: Final = 1 << 20
_LOOPBACK: Final = "127.0.0.1"
# Hive and Hadoop use classes of the JDK by reflection.
OPENED: Final = tuple(
    f"--add-opens=java.base/{name}=ALL-UNNAMED"
    for name in (
        *("java.io", "java.lang", "java.lang.reflect", "java.math", "java.net", "java.nio"),
        *("java.text", "java.time", "java.util", "java.util.concurrent"),
        *("java.util.concurrent.atomic", "java.util.regex"),
    )
)
OPTIONS: Final = (
    *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError"),
    # The first lines on its standard output must be the port and the token.
    "-XX:+DisplayVMOutputToStderr",
    *("-Dfile.encoding=UTF-8", "-Dlog4j2.level=OFF"),
    *OPENED,
)


class Gateway:
    """A running Java process. It ends with the Python process, however that one ends."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._turn = asyncio.Lock()
        self._discarding: asyncio.Task[None] | None = None
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    async def start(cls, java: Path, classpath: str) -> Self:
        """Starts a process; raises JavaError if it doesn't come up in time."""
        server = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")
        try:
            process = await asyncio.create_subprocess_exec(
                *(str(java), *OPTIONS, "-cp", f"{find_jar_path()}:{classpath}", *server),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
            )
        except OSError as error:
            raise JavaError(f"{java} can't be started: {error.strerror}") from error
        gateway = cls(process)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await gateway._connect()
        except (OSError, ValueError, TimeoutError) as error:
            await gateway.close()
            raise JavaError(
                f"{java} runs no gateway: {str(error) or 'no answer in time'}"
            ) from error
        except BaseException:
            await gateway.close()
            raise
        return gateway

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        with suppress(ProcessLookupError):
            self._process.kill()
        if self._discarding is not None:
            await asyncio.gather(self._discarding, return_exceptions=True)
        # This also waits until the pipes are closed.
        await self._process.communicate()

    async def new(self, name: str) -> str:
        """A new object of this class, to call methods of."""
        kind, value = await self._ask(
            f"{protocol.CONSTRUCTOR_COMMAND_NAME}{name}\n{protocol.END_COMMAND_PART}"
        )
        if kind != protocol.REFERENCE_TYPE:
            raise JavaError(f"{name} was no object, but {kind}{value[:100]}")
        return value

    async def call(self, object_: str, method: str, *arguments: bytes | str | bool) -> str | None:
        """The text that a method returns; None if it raises an exception.

        Raises JavaError if the process is gone or doesn't answer in time; after that it is
        unusable.
        """
        parts = "".join(map(protocol.get_command_part, arguments))
        kind, value = await self._ask(
            f"{protocol.CALL_COMMAND_NAME}{object_}\n{method}\n{parts}{protocol.END_COMMAND_PART}"
        )
        if kind == protocol.STRING_TYPE:
            text: str = protocol.unescape_new_line(value)
            return text
        if kind == protocol.ERROR + protocol.REFERENCE_TYPE:
            await self._ask(
                f"{protocol.MEMORY_COMMAND_NAME}{protocol.MEMORY_DEL_SUBCOMMAND_NAME}{value}\n"
                f"{protocol.END_COMMAND_PART}"
            )
        return None

    async def _connect(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        port, token = int(await stdout.readline()), (await stdout.readline()).decode().strip()
        self._discarding = asyncio.create_task(_discard(stdout))
        self._reader, self._writer = await asyncio.open_connection(
            _LOOPBACK, port, limit=ANSWER_BYTES_MAX
        )
        await self._exchange(f"{protocol.AUTH_COMMAND_NAME}\n{token}\n")

    async def _ask(self, command: str) -> tuple[str, str]:
        try:
            async with self._turn, asyncio.timeout(CALL_TIMEOUT_S):
                return await self._exchange(command)
        except (OSError, ValueError, TimeoutError) as error:
            raise JavaError(f"no answer: {str(error) or 'not in time'}") from error

    async def _exchange(self, command: str) -> tuple[str, str]:
        """Sends a command; returns the type of the result and the result. The type of an error
        begins with the error mark.
        """
        assert self._writer is not None
        self._writer.write(command.encode())
        await self._writer.drain()
        line = (await self._reader.readline()).decode()
        answer = line.removeprefix(protocol.RETURN_MESSAGE).removesuffix("\n")
        if not line.endswith("\n"):
            raise ValueError("it hung up")
        if answer.startswith(protocol.SUCCESS):
            return answer[1:2], answer[2:]
        return answer[:2], answer[2:]


async def _discard(stream: asyncio.StreamReader) -> None:
    """Discards the output of Hive's classes, so that it doesn't fill the pipe."""
    while await stream.read(1 << 16):
        pass
