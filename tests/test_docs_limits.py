"""That limits which pages name are those of the code."""

from pathlib import Path
from typing import Final

import pytest

from connectors.loads import plan, queue
from connectors.publish import tails
from hive import patterns
from hive.events import envelope
from hive.filters import constants, parser, predicate, regions
from hive.reader import partitions
from metatide.cli import prewarm
from processors.worker import load_requests
from query_api import requirement
from query_api.database import fallback
from query_api.http import (
    connection,
    endpoints,
    request_body,
    request_parameters,
    scatter_gather,
    server,
    service,
)
from query_api.latest import former_names
from query_api.reads import read
from query_api.thrift import shadow
from query_api.thrift.java import expressions, gateway
from query_api.thrift.methods import tables
from query_api.thrift.protocol import scanner
from state import tables as state_tables
from state.records import actions, epochs
from state.topic import settings

DOCS: Final = Path(__file__).parents[1] / "docs"
KIB: Final = 1024
MIB: Final = 1024 * KIB
SERVICE: Final = service.Settings()
LIMITS: Final[dict[str, tuple[str, ...]]] = {
    "architecture.md": (
        f"{former_names.KEPT_EVENTS:,} events, once there are {former_names.FORGETS_FROM:,}",
    ),
    "connectors.md": (
        f"larger than {envelope.MESSAGE_BYTES_MAX // MIB} MiB (inflated",
        f"than the topic takes ({settings.RECORD_BYTES_MAX // MIB} MiB)",
    ),
    "endpoint.md": (
        f"have {expressions.EXPRESSION_BYTES_MAX // KIB} KiB and take {gateway.CALL_TIMEOUT_S:g} s",
        f"{expressions.WAITING_MAX} may wait at a time, and {expressions.REMEMBERED:,} results",
        f"than {scanner.STEPS_MAX:,} and one for every",
        f"more than {scanner.READ_STEPS_MAX:,} values is left",
        f"list of more than {requirement.WRITE_IDS_CHARS_MAX:,} characters",
        f"or {shadow.WAITING_MAX} calls wait to be",
    ),
    "filters.md": (
        f"may have {parser.MAX_CHARACTERS:,} characters",
        f"{parser.MAX_COMPARISONS:,} comparisons (",
        f"{parser.MAX_NESTING} nested brackets",
        f"{constants.MAX_STRING} characters in a string",
        f"At most {predicate.MAX_TESTS} comparisons",
        f"more than {regions.MAX_INTERVALS} ranges",
    ),
    "http.md": (
        f"if several do, {scatter_gather.OWNERS_MAX} at most",
        f"trailers | {connection.HEAD_BYTES_MAX // KIB} KiB each",
        f"the query {request_parameters.QUERY_BYTES_MAX // KIB} KiB",
        f"in several pieces | {connection.HEADERS_MAX} |",
        f"answers before theirs | {connection.PIPELINED_MAX} |",
        f"`application/json`; {request_body.BYTES_MAX // MIB} MiB;",
        f"whole within {request_body.TIMEOUT_S:g} s",
        f"a whole request | {connection.REQUEST_S_MAX} s",
        f"names in a request | {request_parameters.NAMES_MAX:,} |",
        f"a write-id list | {requirement.WRITE_IDS_CHARS_MAX:,} characters",
        f"a pattern of names | {patterns.MAX_CHARACTERS:,} characters",
        f"characters, {patterns.REQUEST_PARTS_MAX} `*`, {patterns.REQUEST_PARTS_MAX} `\\|`",
        f"page | {endpoints.OBJECTS_MAX:,}; by default {endpoints.OBJECTS:,}; no",
        f"functions | {endpoints.NAMES_MAX:,}; by default {endpoints.NAMES:,}; no",
        f"`max_wait_ms`, `max_age_ms` | {requirement.WAIT_MS_MAX:,} |",
        f"concurrent requests | {SERVICE.in_flight_max:,} |",
        f"| connections | {connection.CONNECTIONS_MAX:,} |",
        f"an answer | {SERVICE.timeout_s:g} s; {connection.STUCK_S_MAX} s",
        f"idle connection | {server.KEEP_ALIVE_S} s",
        f"{fallback.WAITING_MAX:,} requests wait",
        f"its wait included | {fallback.READ_TIMEOUT_S:g} s",
    ),
    "loads.md": (
        f"pages of {partitions.PAGE:,} partitions",
        f"up to {plan.BATCH_SCOPES_MAX} of them or {plan.BATCH_PARTITIONS_MAX:,}",
        f"batches of at most {queue.ASKED_AT_ONCE}.",
        f"after each such load, {queue.REST_S_FIRST:g} s at first",
        f"after {load_requests.AGAIN_FIRST_S:g} s, then each time",
    ),
    "promises.md": (
        f"the last {tails.WINDOW_RECORDS} records",
        f"up to {tails.DOUBTFUL_RECORDS_MAX:,} more",
        f"within {actions.MISNAMED_EVENTS_MAX:,} events of the rename",
    ),
    "spark.md": (
        f"Spark from {prewarm.SPARK_PARTITIONS_MIN:,} partitions on",
        f"more than {plan.BATCH_PARTITIONS_MAX:,} partitions into ranges",
    ),
    "state.md": (
        f"lies more than {epochs.EPOCH_JUMP_MAX:,} above it",
        f"more than {state_tables.DOUBTFUL_MAX} objects of a table",
    ),
    "thrift-methods.md": (
        f"up to {tables.TABLES_MAX:,} tables, without",
        f"answers of up to {read.SHORT_MAX} objects",
    ),
}
"""By page what it says."""


@pytest.mark.parametrize("page", LIMITS)
def test_a_page_names_the_limits_of_the_code(page: str) -> None:
    words = " ".join((DOCS / page).read_text().split())
    assert [saying for saying in LIMITS[page] if saying not in words] == []
