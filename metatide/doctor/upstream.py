"""Asks a metastore for one of its settings, as a worker would."""

import asyncio

import msgspec

from hive.errors import MachineError, ThriftError
from metatide.doctor.target import Target
from metatide.metastores import upstream_settings
from query_api.thrift.metastore_facts import TIMEOUT_S, ask_for_setting
from query_api.thrift.upstream import Introduction, Upstreams, UpstreamSettings


def setting(target: Target, name: str) -> str:
    """The value of a setting of the first metastore; empty if it isn't set. Raises MachineError."""

    async def ask() -> str:
        link = await Upstreams(settings_of(target)).open()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await ask_for_setting(link, name)
        except TimeoutError:
            raise MachineError(f"the metastore doesn't tell {name} in time") from None
        finally:
            link.close()

    try:
        return asyncio.run(ask())
    except ThriftError as error:
        raise MachineError(f"the metastore's reply can't be read: {error}") from error


def impersonate(target: Target) -> None:
    """Logs in at the first metastore as for a client who has the worker's own principal. Raises
    MachineError.
    """

    async def log_in() -> None:
        upstreams = Upstreams(settings_of(target))
        login = upstreams.settings.login
        assert login is not None
        (await upstreams.open(Introduction(login.principal, login.principal))).close()

    asyncio.run(log_in())


def settings_of(target: Target) -> UpstreamSettings:
    """How to talk to the first metastore. Raises InputError."""
    assert target.upstream is not None
    settings = upstream_settings(target.upstream, target.advertised_host)
    return msgspec.structs.replace(settings, addresses=settings.addresses[:1])
