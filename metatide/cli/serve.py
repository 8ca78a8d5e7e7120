"""`metatide serve`: answers reads without a worker."""

import logging

import click
import uvloop

from metatide.config import Effective, configured
from metatide.process import logs
from metatide.process.data_folder import open_data_folder
from metatide.stack.running import completed, database_url
from metatide.topic import await_ticket
from metatide.worker.image_server import serve_images
from processors.directory import WorkerDirectory
from processors.freed_memory import limit_freed_memory


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "database.url", "images.url", "http.port")
@click.option("--from-images", is_flag=True, required=True, help="Serve from the newest images.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for newer images.",
)
def command(effective: Effective, from_images: bool, every_s: float) -> None:
    """Answer reads from the newest images and from the database until Ctrl-C.

    The images can be made on another machine (`metatide image follow`). A newer image replaces the
    one before; reads that have begun finish on the old one. /v1 has the same reads as a worker;
    /readyz says whether there is an image of each shard.
    """
    assert from_images
    config = completed(effective.config)
    config.images.require_url()
    logging.getLogger().setLevel(logging.CRITICAL)
    logs.configure(config.log)
    limit_freed_memory()
    directory = WorkerDirectory(open_data_folder(config) / "served")
    # The database answers what isn't in an image.
    database_url(config)
    await_ticket(config)
    with directory.owned():
        uvloop.run(serve_images(config, directory.path / "images", every_s))
