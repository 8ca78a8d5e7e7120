"""A client of an engine, which performs steps."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from thriftpy2.thrift import TException

from tests.differential.names import Names
from tests.differential.steps import Step
from tests.differential.writers.constraints import Constraints
from tests.differential.writers.databases import Databases
from tests.differential.writers.grants import Grants
from tests.differential.writers.partitions import Partitions
from tests.differential.writers.statistics import Statistics
from tests.differential.writers.tables import Tables
from tests.differential.writers.transactions import Transactions
from tests.query_api.thrift.methods import corpus
from tests.support.hive import hms_client

CAPABILITIES: Final[Mapping[str, Sequence[str] | None]] = {
    "hive": hms_client.CAPABILITIES,
    "hiveserver": (
        *("HIVEFULLACIDREAD", "HIVEFULLACIDWRITE", "HIVEMANAGEDINSERTREAD", "EXTREAD"),
        *("HIVEMANAGEDINSERTWRITE", "HIVECACHEINVALIDATE", "HIVEMANAGESTATS", "EXTWRITE"),
        *("HIVEONLYMQTWRITE", "HIVESQL", "HIVEMQT", "HIVEBUCKET2", "ICEBERG"),
        "ACCEPTS_UNMODIFIED_METADATA",
    ),
    "spark": corpus.SPARK,
    "impala": corpus.IMPALA,
    "trino": None,
}


class Writer(Databases, Tables, Partitions, Statistics, Constraints, Transactions, Grants):
    """A client with all actions."""

    def do(self, step: Step) -> str | None:
        """Performs a step; returns None, or why it was refused."""
        try:
            getattr(self, step.action)(**step.given)
        except TException as refused:
            # Some faults leave a transaction open, which locks the sequence until its client
            # disconnects.
            self.connect()
            return type(refused).__name__
        except KeyError as missing:
            # The step refers to a transaction or a write id that doesn't exist.
            return f"no {missing}"
        return None


@contextmanager
def writing(addresses: Sequence[str], names: Names) -> Iterator[dict[str, Writer]]:
    """The writers of a run, distributed over the metastores."""
    transactions: dict[str, int] = {}
    write_ids: dict[tuple[str, str, str], int] = {}
    writers = {
        engine: Writer(
            addresses[number % len(addresses)], names, capabilities, transactions, write_ids
        )
        for number, (engine, capabilities) in enumerate(CAPABILITIES.items())
    }
    try:
        yield writers
    finally:
        for writer in writers.values():
            writer.close()
