"""`metatide up`: everything, on this machine."""

import click
from rich.console import Console

from metatide.config import Effective, configured
from metatide.stack import up


@click.command()
@configured(
    "data_dir",
    "workers",
    "kafka.bootstrap_servers",
    "database.url",
    "metastore",
    "http.port",
    "thrift.port",
    "upstream.url",
)
def command(effective: Effective) -> None:
    """Run everything on this machine until Ctrl-C.

    Kafka and a PostgreSQL with the metastore's tables come along; --kafka and --database use
    yours instead, and --metastore adds a real Hive metastore on that database. With that one, or
    with yours (--upstream), workers speak as a metastore does, at --thrift-port. A process that
    dies is started again.
    """
    console = Console(highlight=False, soft_wrap=True)
    up.run(effective, lambda text: console.print(text, markup=False))
