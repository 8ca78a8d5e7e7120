"""Clients in several processes."""

import subprocess
import sys

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.metatide.client.serving import serving_app

GROUNDS = {"metatide-source": "cache", "metatide-reason": "fresh", "metatide-position": "0:5"}
ASKS = """
import asyncio, inspect, os, sys
from metatide import client as clients

client = getattr(clients, sys.argv[1])(sys.argv[2])
session = client.session()
loop = asyncio.new_event_loop()

def ask(who, client):
    answer = client.catalogs()
    answer = loop.run_until_complete(answer) if inspect.isawaitable(answer) else answer
    print(who, *answer.value, flush=True)

ask("parent", session)
if os.fork() == 0:
    ask("child", client)
    ask("child", session)
    os._exit(0)
os.wait()
ask("parent", client)
"""


async def name_the_connection(request: Request) -> Response:
    """Answers with the port of the client as a catalog."""
    assert request.client is not None
    return JSONResponse({"names": [str(request.client.port)]}, headers=GROUNDS)


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_a_process_that_forked_has_connections_of_its_own(kind: str) -> None:
    """On one of the other process, it could read the answers to that one's questions."""
    with serving_app(Starlette(routes=[Route("/v1/catalogs", name_the_connection)])) as url:
        command = [sys.executable, "-c", ASKS, kind, url]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    connections = {"parent": set[str](), "child": set[str]()}
    for line in output.splitlines():
        who, port = line.split()
        connections[who].add(port)
    assert [len(ports) for ports in connections.values()] == [1, 1]
    assert connections["parent"].isdisjoint(connections["child"])
