"""How `metatide up` waits, and how it is interrupted before anything runs."""

import os
import signal
from functools import partial

import httpx
import pytest

from metatide.stack import up


async def test_a_server_that_starts_is_asked_until_it_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[httpx.Response | Exception] = [
        httpx.ConnectError("refused"),
        httpx.Response(503),
        httpx.Response(200),
    ]

    def reply(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == "http://here/readyz"
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = partial(httpx.AsyncClient, transport=httpx.MockTransport(reply))
    monkeypatch.setattr(httpx, "AsyncClient", client)
    monkeypatch.setattr(up, "_READY_POLL_S", 0)
    await up._until_ready("http://here")
    assert answers == []


def test_sigterm_interrupts_as_ctrl_c_does() -> None:
    before = signal.signal(signal.SIGTERM, up._interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
