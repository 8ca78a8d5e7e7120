"""Asks metastores for their settings, as a worker would."""

import asyncio
import dataclasses
from collections.abc import Mapping

import msgspec

from metatide.config.values import ThriftUrls
from metatide.doctor.target import Target
from metatide.metastores import read_setting, upstream_settings
from query_api.thrift.metastore.link import host_port
from query_api.thrift.metastore.upstream import Introduction, Upstreams, UpstreamSettings


def setting(target: Target, name: str) -> str:
    """The value of a setting of the metastore; empty if it isn't set. Raises MachineError."""
    return read_setting(settings_of(target), name)


def impersonate(target: Target) -> None:
    """Logs in at the metastore as for a client who has the worker's own principal. Raises
    MachineError.
    """

    async def log_in() -> None:
        upstreams = Upstreams(settings_of(target))
        login = upstreams.settings.login
        assert login is not None
        (await upstreams.open(Introduction(login.principal, login.principal))).close()

    asyncio.run(log_in())


def settings_of(target: Target) -> UpstreamSettings:
    """How to talk to the metastore. Raises InputError."""
    assert target.upstream is not None
    return upstream_settings(target.upstream, target.advertised_host)


def each_metastore(target: Target) -> Mapping[str, Target]:
    """The target once for each of its metastores, by their addresses, as if there were no other."""
    if target.upstream is None or target.upstream.url is None:
        return {}
    return {
        host_port(address): dataclasses.replace(
            target,
            upstream=msgspec.structs.replace(
                target.upstream, url=ThriftUrls(f"thrift://{host_port(address)}")
            ),
        )
        for address in target.upstream.url.addresses
    }
