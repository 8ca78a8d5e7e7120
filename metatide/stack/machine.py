"""Checks of the machine before anything starts: disk space, free ports, one owner."""

import errno
import fcntl
import os
import pwd
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from hive.errors import MachineError
from hive.units import MIB
from state.folders import open_lock

LOOPBACK = "127.0.0.1"
ANY = "0.0.0.0"


class Credentials(TypedDict, total=False):
    """The arguments of `subprocess` that start a child as another user."""

    user: int
    group: int
    extra_groups: list[int]


def as_user(name: str | None) -> Credentials:
    """The credentials of the user `name`, or of the current user."""
    if name is None:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def folder_aside(target: Path) -> Path:
    """A name beside `target` for a folder that is renamed when it is complete.

    Removes what earlier attempts left. An earlier attempt may still be writing, if only its parent
    was killed, so the name is new each time.
    """
    for left in target.parent.glob(f"{target.name}.*.new"):
        shutil.rmtree(left, ignore_errors=True)
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}.new")


def require_room(folder: Path, needed: int) -> None:
    """Raises an error if the file system of `folder` has less than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise MachineError(
            f"{folder} has {free // MIB} MiB free, but {-(-needed // MIB)} MiB are needed; "
            "free some disk space and run this again"
        )


def free_port() -> int:
    """A free TCP port."""
    with socket.socket() as server:
        server.bind((LOOPBACK, 0))
        port: int = server.getsockname()[1]
        return port


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server can listen there. Raises OSError if the host isn't this machine."""
    for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        with socket.socket(family) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # Servers leave the same port of IPv4 to others.
                server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                server.bind(address)
            except OSError as error:
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    return False
                raise
    return True


def require_port(port: int, option: str, host: str = LOOPBACK) -> None:
    """Raises an error if nothing can listen on the port, which `option` sets."""
    try:
        free = is_free(port, host)
    except OSError as error:
        raise MachineError(
            f"nothing can listen on {host}: {error.strerror}; choose a host that is this machine"
        ) from error
    if not free:
        raise MachineError(
            f"port {port} on {host} is in use; stop what listens there or choose another {option}"
        )


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on the file `path`, after waiting for it."""
    handle = open_lock(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
