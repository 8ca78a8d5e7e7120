"""The addresses by which others reach a process of this machine."""

import socket
from contextlib import suppress
from ipaddress import ip_address

from hive.errors import InputError
from metatide.config import Config


def worker_host(config: Config) -> str:
    """The name or address at which the others reach a worker; never one that stands for all."""
    advertised = config.worker.advertised_host
    if advertised is None:
        return reachable(config.worker.host, config.kafka.bootstrap_servers)
    if _is_any(advertised):
        raise InputError(
            f"worker.advertised_host is {advertised}, at which nobody can be reached: give a name "
            "or an address of this machine"
        )
    return advertised


def reachable(host: str, servers: str | None) -> str:
    """The host to listen on, or, if that stands for all addresses, the address from which this
    machine reaches the brokers; its name, if that can't be told."""
    if not _is_any(host):
        return host
    with suppress(OSError, ValueError):
        there, _, port = (servers or "").split(",")[0].rpartition(":")
        [(family, kind, _, _, address), *_] = socket.getaddrinfo(
            there.strip("[]"), int(port), type=socket.SOCK_DGRAM
        )
        # For datagrams, `connect` only chooses the way and sends nothing.
        with socket.socket(family, kind) as towards:
            towards.connect(address)
            return str(towards.getsockname()[0])
    return socket.gethostname()


def is_reached_by(host: str, name: str | None) -> bool:
    """Whether a server that listens at `host` does so on all addresses, this name's too."""
    if not name or not _is_any(host):
        return False
    try:
        # Those of both kinds are all only to a server that names none.
        return not host or ip_address(name).version == ip_address(host).version
    except ValueError:
        return True


def near(host: str) -> str:
    """The host to ask where a server listens at this one."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


def joined(host: str, port: int) -> str:
    """HOST:PORT, with brackets around an address that has colons."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_any(host: str) -> bool:
    try:
        return not host or ip_address(host).is_unspecified
    except ValueError:
        return False
