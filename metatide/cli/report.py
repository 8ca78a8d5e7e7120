"""`metatide report`: a report on the history in the topic."""

import time
from pathlib import Path

import click

from metatide.config import Effective, configured
from metatide.report_page import page
from metatide.topic import find_topic
from state.folders import make_folder
from state.topic.client import topic_bounds


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "spark.master")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("metatide-report"),
    show_default=True,
    help="The folder of the page.",
)
@click.option(
    "--parquet",
    metavar="URL",
    help="Spark's path for the Parquet files; by default beside the page.",
)
def command(effective: Effective, out: Path, parquet: str | None) -> None:
    """Report on the whole history of the topic, by Spark.

    Shows events by type, hour and database, the tables that change most, how long transactions
    took, and how long tables were cold and why: as a page (report.html), and as Parquet for further
    queries.
    """
    # Spark takes half a second to import, which only this command needs.
    from metatide.spark.session import session
    from processors.spark.history_rows import history_rows
    from processors.spark.report import ask

    config = effective.config
    topic = find_topic(config)
    bounds = dict(topic_bounds(topic))
    make_folder(out)
    with session(config, f"report on {topic.name}", reads_kafka=True) as spark:
        spark.sparkContext.setJobDescription(f"Metatide: the history of {topic.name}")
        loaded = history_rows(spark, topic, bounds, config.state.memory_bytes)
        answers = ask(spark, loaded, parquet or f"file://{out.absolute()}")
    path = out / "report.html"
    path.write_text(page(topic.name, time.time(), answers), encoding="utf-8")
    click.echo(path)
