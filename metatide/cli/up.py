"""`metatide up`: runs everything on this machine."""

import click

from metatide.config import Effective, configured
from metatide.process.consoles import PlainConsole
from metatide.stack import up


@click.command()
@configured(
    "data_dir",
    "workers",
    "kafka.bootstrap_servers",
    "database.url",
    "metastore",
    "secure",
    "http.port",
    "thrift.port",
    "upstream.url",
)
def command(effective: Effective) -> None:
    """Run everything on this machine until Ctrl-C.

    This includes Kafka and a PostgreSQL with the metastore's tables; --kafka and --database use
    yours instead, and --metastore adds a real Hive metastore on that database. With that metastore,
    or with yours (--upstream), workers also speak the metastore's Thrift interface at
    --thrift-port. With --secure, clients log in there by tickets of Kerberos, whose key
    distribution centre is started, too. A process that dies is restarted.
    """
    console = PlainConsole(highlight=False, soft_wrap=True)
    up.run(effective, console.print)
