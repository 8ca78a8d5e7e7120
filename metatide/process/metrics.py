"""The metrics of a process itself: which release it runs, and what it takes."""

from importlib.metadata import version
from platform import python_version
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

VERSION: Final = version("metatide")


def process_metrics(registry: CollectorRegistry | None = None) -> CollectorRegistry:
    """The metrics of this process, in a registry of their own or in this one."""
    registry = CollectorRegistry() if registry is None else registry
    ProcessCollector(registry=registry)
    labels = ("version", "python")
    build = Gauge(
        "metatide_build_info", "The release that it runs; always 1.", labels, registry=registry
    )
    build.labels(VERSION, python_version()).set(1)
    return registry
