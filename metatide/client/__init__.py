"""The Python client; it imports nothing else of this project."""

from metatide.client.asynchronous import AsyncClient
from metatide.client.bound import Settings
from metatide.client.calls import Object, Which
from metatide.client.errors import NotFoundError, ServerError, UnavailableError
from metatide.client.need import Answer, Consistency, Need, Position
from metatide.client.snapshot import Snapshot
from metatide.client.sync import Client

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "Consistency",
    "Need",
    "NotFoundError",
    "Object",
    "Position",
    "ServerError",
    "Settings",
    "Snapshot",
    "UnavailableError",
    "Which",
]
