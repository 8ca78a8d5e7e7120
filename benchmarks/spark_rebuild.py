"""Builds images from a topic on Spark, with one core and with two; the baseline only consumes it.

python -m benchmarks.spark_rebuild [--records N]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from benchmarks.fold import Workload
from benchmarks.report import print_line
from benchmarks.spark_prewarm import measured
from metatide.config import Config
from metatide.config.schema import Spark
from metatide.spark.session import session
from processors.spark.build import Place, build_images
from state.topic import Topic, TopicClient, TopicReader
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import TopicWriter, new_topic

RECORDS, SHARDS = 1_000_000, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    arguments = parser.parse_args()
    with broker() as servers, tempfile.TemporaryDirectory() as folder:
        topic = new_topic(servers, SHARDS)
        writer = TopicWriter(topic)
        for shard in range(SHARDS):
            writer.write(shard, Workload(seed=shard).records(arguments.records // SHARDS))
        writer.flush()
        consumed = consume_seconds(topic)
        seconds = [rebuild(topic, Path(folder), cores) for cores in (1, 2)]
        speedup = round(seconds[0] / seconds[1], 2)
        print_line(benchmark="rebuild", two_cores_to_one=speedup, consume_only_s=consumed)


def consume_seconds(topic: Topic) -> float:
    began = time.perf_counter()
    with TopicReader(topic) as reader:
        for shard in range(SHARDS):
            end = reader.bounds(shard).end
            assert sum(map(len, reader.read(shard, 0, end))) == end
    return round(time.perf_counter() - began, 2)


def rebuild(topic: Topic, folder: Path, cores: int) -> float:
    """The seconds in which a running session builds all images."""
    config = Config(data_dir=folder, spark=Spark(master=f"local[{cores},4]"))
    bounds = TopicClient(topic.servers, topic.name).bounds(range(SHARDS))
    ends = [(shard, one.end) for shard, one in bounds.items()]
    with session(config, "benchmark") as spark:
        place = Place(str(folder / f"images-{cores}"), 128 << 20)
        with measured(f"rebuild, local[{cores}]") as figures:
            build_images(spark.sparkContext, topic, ends, place)
            figures["records"] = sum(end for _, end in ends)
            figures["cpus"] = os.cpu_count() or 0
    return figures["seconds"]


if __name__ == "__main__":
    main()
