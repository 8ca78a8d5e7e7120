"""Three brokers and a controller, with a listener for each client, before which a link stands."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from metatide.stack import jars
from metatide.stack.java import find_java
from metatide.stack.kafka import MESSAGE_BYTES_MAX
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from tests.support.engines.query_server import write_properties
from tests.support.links import Links

CLIENTS: Final = ("worker-1", "worker-2", "connector-1", "connector-2")
BROKERS: Final = (1, 2, 3)
_CONTROLLER: Final = 100
_CLUSTER: Final = "AAAAAAAAAAAAAAAAAAAAAA"
_DIRECT: Final = "direct"
_AMONG: Final = "brokers"
_SETTINGS: Final[Mapping[str, object]] = {
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": _AMONG.upper(),
    "auto.create.topics.enable": "false",
    "default.replication.factor": 3,
    "min.insync.replicas": 1,
    # What a careless operator sets: a replica that lacks records may lead.
    "unclean.leader.election.enable": "true",
    "replica.lag.time.max.ms": 4_000,
    "log.retention.ms": -1,
    "message.max.bytes": MESSAGE_BYTES_MAX,
    "replica.fetch.max.bytes": MESSAGE_BYTES_MAX,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "broker.session.timeout.ms": 3_000,
    "broker.heartbeat.interval.ms": 500,
}


class Brokers:
    """Their commands, and the links before their listeners."""

    def __init__(self, folder: Path, ports: Ports, links: Links) -> None:
        self._folder = folder
        names = (_DIRECT, _AMONG, *CLIENTS)
        self._ports = {(n, b): ports.take(f"{n}-{b}") for n in names for b in BROKERS}
        self._controller_port = ports.take("controller")
        self.links = {
            (client, broker): (ports.take(f"{client}-{broker}-link"), self._ports[client, broker])
            for client in (*CLIENTS, _AMONG)
            for broker in BROKERS
        }
        for port, target in self.links.values():
            links.change(port, target)

    def addresses(self, client: str = _DIRECT) -> str:
        """The bootstrap addresses for a client; without one, those past all links."""
        if client == _DIRECT:
            return ",".join(f"{LOOPBACK}:{self._ports[client, broker]}" for broker in BROKERS)
        return ",".join(f"{LOOPBACK}:{self.links[client, broker][0]}" for broker in BROKERS)

    def commands(self) -> dict[str, Sequence[str]]:
        """By name, after the folders were formatted."""
        return {"controller": self._command(_CONTROLLER)} | {
            f"broker-{broker}": self._command(broker) for broker in BROKERS
        }

    def _command(self, node: int) -> Sequence[str]:
        own = self._folder / str(node)
        own.mkdir(parents=True, exist_ok=True)
        write_properties(own / "log4j2.properties", {"rootLogger.level": "error"})
        config = own / "server.properties"
        settings = {**_SETTINGS, **self._roles(node), "node.id": node, "log.dirs": own / "data"}
        write_properties(config, settings)
        java: tuple[str, ...] = (
            str(find_java()),
            "-Xmx320m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
        )
        java += (f"-Dlog4j2.configurationFile={own / 'log4j2.properties'}",)
        java += ("-cp", f"{jars.fetch('kafka')}/*")
        if not (own / "data").exists():
            tool = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(config))
            subprocess.run([*java, *tool], check=True, capture_output=True)
        return (*java, "kafka.Kafka", str(config))

    def _roles(self, node: int) -> dict[str, object]:
        controller = f"{LOOPBACK}:{self._controller_port}"
        names = ("CONTROLLER", *(name.upper() for name in (_DIRECT, _AMONG, *CLIENTS)))
        shared: dict[str, object] = {
            "controller.quorum.voters": f"{_CONTROLLER}@{controller}",
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        }
        if node == _CONTROLLER:
            return shared | {
                "process.roles": "controller",
                "listeners": f"CONTROLLER://{controller}",
            }
        own = {name: self._ports[name, node] for name in (_DIRECT, _AMONG, *CLIENTS)}
        shown = {
            name: self.links[name, node][0] if (name, node) in self.links else port
            for name, port in own.items()
        }
        return shared | {
            "process.roles": "broker",
            "listeners": _listeners(own),
            "advertised.listeners": _listeners(shown),
        }


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name.upper()}://{LOOPBACK}:{port}" for name, port in ports.items())
