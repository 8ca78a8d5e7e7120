"""The worker's own login at a real metastore whose directory checks passwords."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from hive.errors import InputError, UpstreamError
from metatide.config import Config, load
from metatide.config.values import ThriftUrl
from metatide.doctor import Finding, Status, examine, find_target
from metatide.doctor.checks import CHECKS
from metatide.metastores import upstream_settings
from metatide.stack.machine import free_port
from query_api.thrift.metastore.settings import fetch_settings
from query_api.thrift.metastore.upstream import Upstreams
from tests.query_api.thrift.serving import HOST, result, serving
from tests.query_api.thrift.structs import text
from tests.support.hive.guarded_metastore import by_ldap, guarded_metastore
from tests.support.logins.certificates import Authority
from tests.support.logins.directory import directory
from tests.support.processes import open_folder
from tests.support.worker_log import WorkerLog

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(600),
    pytest.mark.by_turns(4, of="logins"),
]
PASSWORDS: Final = {"cache": "its own secret"}
WRONG: Final = "none of its own"
LONG: Final = "x" * 300_000
LONG_CALL: Final = text(1, "hive.none") + text(2, LONG) + b"\0"


class Site(NamedTuple):
    """A metastore, and what a worker needs to log in there."""

    metastore: str
    authority: Authority
    password: Path

    def config(self, **more: str) -> Config:
        environ = {
            "URL": self.metastore,
            "TLS": "true",
            "TLS_CA": str(self.authority.certificate),
            "USER": "cache",
            "PASSWORD_FILE": str(self.password),
            **more,
        }
        return load(
            environ={f"METATIDE_UPSTREAM_{name}": value for name, value in environ.items()}
        ).config

    def upstreams(self, **more: str) -> Upstreams:
        return Upstreams(upstream_settings(self.config(**more).upstream, None))

    async def failure(self, **more: str) -> str:
        """Why the worker can't log in."""
        with pytest.raises(UpstreamError) as caught:
            await self.upstreams(**more).open()
        return str(caught.value)


@pytest.fixture(scope="module")
def site(new_database: Callable[[], str]) -> Iterator[Site]:
    with open_folder() as folder:
        authority = Authority(folder / "authority")
        password = folder / "password"
        password.write_text(f"{PASSWORDS['cache']}\n")
        with (
            directory(folder / "directory", authority, PASSWORDS) as users,
            guarded_metastore(new_database(), authority, by_ldap(users)) as address,
        ):
            yield Site(address, authority, password)


@pytest.fixture(autouse=True)
def _no_password_is_logged(log: WorkerLog) -> None:
    log.keep_out(PASSWORDS["cache"], WRONG, "schlüssel", f"\0cache\0{PASSWORDS['cache']}")


async def test_calls_are_relayed_to_a_metastore_with_ldap(site: Site) -> None:
    settings = upstream_settings(site.config().upstream, None)
    its_settings = await fetch_settings(settings, ThriftUrl(site.metastore).address)
    assert its_settings is not None
    assert its_settings.default_catalog == "hive"
    async with serving(upstream=settings) as here:
        client = await here.connect()
        for _ in range(2):
            reply = await client.call("get_config_value", LONG_CALL)
            assert reply is not None
            assert reply.body == result(LONG)
        reply = await client.call("get_all_databases")
        assert reply is not None
        assert b"default" in reply.body
        assert 'upstream_connections{kind="client"} 1.0' in here.metrics()


async def test_what_is_wrong_with_a_login_is_told(
    site: Site, tmp_path: Path, log: WorkerLog
) -> None:
    wrong, none, empty, foreign = (tmp_path / name for name in ("wrong", "none", "empty", "f"))
    wrong.write_text(WRONG)
    foreign.write_text("schlüssel")
    empty.write_text("\n")
    why = await site.failure(PASSWORD_FILE=str(wrong))
    assert "it refuses the login: 'Error validating the login" in why
    why = await site.failure(PASSWORD_FILE=str(none))
    assert f"upstream.password_file {none} can't be read: No such file" in why
    why = await site.failure(PASSWORD_FILE=str(empty))
    assert f"upstream.password_file {empty} holds no password" in why
    why = await site.failure(PASSWORD_FILE=str(foreign))
    assert f"upstream.password_file {foreign} can't be read: metastores take only ASCII" in why
    why = await site.failure(URL=f"thrift://{HOST}:{free_port()}")
    assert why.startswith(f"no metastore answers: {HOST}")
    assert log.entries


async def test_a_new_password_is_used_at_the_next_login(site: Site, tmp_path: Path) -> None:
    used = tmp_path / "used"
    used.write_text(WRONG)
    upstreams = site.upstreams(PASSWORD_FILE=str(used))
    with pytest.raises(UpstreamError, match="refuses the login"):
        await upstreams.open()
    used.write_text(PASSWORDS["cache"])
    (await upstreams.open()).close()


async def test_a_client_is_told_why_a_call_can_not_be_relayed(site: Site, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text(WRONG)
    settings = upstream_settings(site.config(PASSWORD_FILE=str(wrong)).upstream, None)
    async with serving(upstream=settings) as here:
        client = await here.connect()
        reply = await client.call("get_all_databases")
        assert reply is not None
        assert reply.kind == 3
        assert b"it refuses the login" in reply.body


async def test_the_doctor_logs_in_as_a_worker_does(site: Site, tmp_path: Path) -> None:
    def findings(**more: str) -> Mapping[str, Finding]:
        checks = [check for check in CHECKS if check.name in ("metastore", "impersonation")]
        config = site.config(**more)
        return {one.check: one.finding for one in examine(find_target(config), checks)}

    results: Any = await asyncio.to_thread(findings)
    assert results["metastore"].detail.endswith(", logged in as cache")
    assert results["impersonation"].detail == (
        "off: metastores that check passwords run all calls as one user"
    )
    wrong = tmp_path / "wrong"
    wrong.write_text(WRONG)
    results = await asyncio.to_thread(findings, PASSWORD_FILE=str(wrong))
    assert results["metastore"].status is Status.FAILED
    assert "it refuses the login" in results["metastore"].detail


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"TLS": "false"}, "upstream.password_file holds what whoever reads it"),
        ({"PASSWORD_FILE": ""}, "set both upstream.user and upstream.password_file"),
        ({"HTTP_PATH": "metastore"}, "exclude each other"),
        ({"FRAMED": "true"}, "exclude each other"),
    ],
)
def test_what_can_not_work_is_refused(site: Site, environ: dict[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        site.config(**environ)
