"""When a connection reads, and how long it waits for its client."""

import asyncio
from time import monotonic
from typing import cast

from query_api.thrift.connection.flow_control import FlowControl
from tests.query_api.thrift.connection.scripted_calls import Transport

PATIENCE_S = 10.0


def controlled() -> tuple[FlowControl, Transport]:
    flow, transport = FlowControl(), Transport()
    flow.transport = cast(asyncio.Transport, transport)
    return flow, transport


def test_reading_pauses_and_resumes_however_often_it_is_told_to() -> None:
    flow, transport = controlled()
    flow.resume_reading()
    for _ in range(2):
        flow.pause_reading()
        assert (transport.is_reading, flow.is_paused) == (False, True)
    for _ in range(2):
        flow.resume_reading()
        assert (transport.is_reading, flow.is_paused) == (True, False)


def test_a_connection_that_is_closed_or_gone_is_neither_paused_nor_resumed() -> None:
    flow, transport = controlled()
    flow.pause_reading()
    transport.close()
    flow.resume_reading()
    assert not transport.is_reading
    flow.pause_reading()
    assert not flow.is_paused
    flow.transport = None
    flow.pause_reading()
    flow.resume_reading()
    assert not flow.is_paused


def test_a_client_that_takes_some_of_its_reply_is_not_stuck() -> None:
    flow, transport = controlled()
    flow.block()
    now = monotonic()
    for unsent in (900, 600, 300):
        transport.buffered = unsent
        now += PATIENCE_S / 2
        assert not flow.is_stuck(now, PATIENCE_S)
    now += PATIENCE_S / 2
    assert not flow.is_stuck(now, PATIENCE_S)
    assert flow.is_stuck(now + PATIENCE_S / 2, PATIENCE_S)
