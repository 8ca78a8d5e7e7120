"""Asks a metastore for one of its settings."""

import socket
from struct import Struct
from typing import BinaryIO

from hive.errors import MachineError

TIMEOUT_S = 5.0
_ANSWER_BYTES_MAX = 1024 * 1024
_METHOD = b"get_config_value"
_VERSION_1 = 0x8001
_CALL, _REPLY = 1, 2
_STRING, _STRUCT = 11, 12
_STOP = b"\0"
_I32 = Struct("!i")
_HEAD = Struct("!HH")
_FIELD = Struct("!bh")


def setting(address: tuple[str, int], name: str) -> str:
    """The value of a setting of the metastore at HOST, PORT; empty if it isn't set."""
    try:
        with socket.create_connection(address, TIMEOUT_S) as connection:
            connection.sendall(_question(name))
            with connection.makefile("rb") as stream:
                return _answer(stream, name)
    except OSError as error:
        raise MachineError(f"no metastore answers at {address[0]}:{address[1]}: {error}") from error


def _question(name: str) -> bytes:
    arguments = _text_field(1, name) + _text_field(2, "") + _STOP
    return _HEAD.pack(_VERSION_1, _CALL) + _text(_METHOD) + _I32.pack(0) + arguments


def _text(data: bytes) -> bytes:
    return _I32.pack(len(data)) + data


def _text_field(number: int, text: str) -> bytes:
    return _FIELD.pack(_STRING, number) + _text(text.encode())


def _answer(stream: BinaryIO, name: str) -> str:
    version, kind = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if version != _VERSION_1 or _read_text(stream) != _METHOD:
        raise OSError("its reply is not in Thrift's binary protocol")
    _exactly(stream, _I32.size)
    if kind == _REPLY:
        code = _exactly(stream, 1)[0]
        number = int.from_bytes(_exactly(stream, 2)) if code else None
        if (code, number) == (_STRING, 0):
            return _read_text(stream).decode()
    raise OSError(f"it refuses to tell {name}")


def _read_text(stream: BinaryIO) -> bytes:
    (length,) = _I32.unpack(_exactly(stream, _I32.size))
    if not 0 <= length <= _ANSWER_BYTES_MAX:
        raise OSError("its reply is not in Thrift's binary protocol")
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) != length:
        raise OSError("it closed the connection in the middle of its reply")
    return data
