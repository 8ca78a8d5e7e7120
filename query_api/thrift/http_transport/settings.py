"""Settings of a Thrift server's port for HTTP."""

from collections.abc import Mapping
from typing import Final

import msgspec

from query_api.own_hosts import OwnHosts
from query_api.thrift.http_transport.scheme import Scheme

PATH: Final = "metastore"


class HttpSettings(msgspec.Struct, frozen=True):
    """Where clients post their calls, and how they prove who they are."""

    path: str = f"/{PATH}"
    schemes: Mapping[str, Scheme] = {}
    """By their names in lower case; if there are any, clients must use one."""
    own_hosts: OwnHosts = OwnHosts()
    """By which names clients that use none may ask."""
