"""A metastore that says what a test has it say, whatever it is told."""

import asyncio
from typing import Any, cast

from query_api.thrift.metastore.login.negotiation import Exchange, SaslFrames, log_in
from query_api.thrift.sasl.mechanism import Layer
from query_api.thrift.sasl.negotiation import RESPONSE_BYTES_MAX


class Written:
    """Takes what is written."""

    def write(self, data: bytes) -> None:
        pass


async def logged_in(exchange: Exchange, said: bytes) -> Layer:
    """What comes of a login at a metastore that says this, and hangs up."""
    reader = asyncio.StreamReader(limit=RESPONSE_BYTES_MAX)
    reader.feed_data(said)
    reader.feed_eof()
    return await log_in(SaslFrames(reader, cast(Any, Written())), exchange)
