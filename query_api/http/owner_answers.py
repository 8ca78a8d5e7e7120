"""Answers that another worker gives and this one may keep, over HTTP."""

from base64 import b64decode, b64encode
from collections.abc import Container

from starlette.types import Scope, Send

from hive.names import TableName
from query_api import owner_moment
from query_api.http.gate import is_peer
from query_api.http.messages import Headers, send_body
from query_api.http.proof import MOMENT
from query_api.http.response_cache import BODY_BYTES_MAX
from query_api.owner_moment import AnyMoment, OwnerMoment


def is_for_peer(scope: Scope, body: bytes) -> bool:
    """Whether a worker asks that may keep this body."""
    return is_peer(scope) and len(body) <= BODY_BYTES_MAX


async def send_to_peer(
    send: Send,
    moment: AnyMoment,
    former_names: Container[TableName],
    body: bytes,
    headers: Headers,
) -> None:
    """Sends a body as it is, with what it depends on: the peer keeps it, compresses it, and
    knows what its client has already.
    """
    data = owner_moment.encode(moment, former_names)
    if data is not None:
        headers = [*headers, (MOMENT, b64encode(data))]
    await send_body({"headers": ()}, send, body, headers)


def moment_of_owner(text: str, shard: int) -> OwnerMoment | None:
    """What an owner's answer depends on; None if that can't be read."""
    try:
        return owner_moment.decode(b64decode(text, validate=True), shard)
    except ValueError:
        return None
