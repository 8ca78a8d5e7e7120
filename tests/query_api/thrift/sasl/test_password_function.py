"""Clients whose passwords a function of the deployment checks."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from hive.errors import InputError
from query_api.thrift.sasl import password_function
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.sasl.password_function import CHECKS_MAX, PasswordFunction
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.configured import configured, settings_of
from tests.query_api.thrift.http_transport.clients import basic, call, serving_http
from tests.query_api.thrift.sasl.clients import Said, log_in
from tests.query_api.thrift.serving import Running, answer, serving, until
from tests.support.logins.certificates import Authority
from tests.support.worker_log import WorkerLog

MODULE: Final = "checks_of_a_site"
CODE: Final = """
import threading, time
free = threading.Event()
begun = []
def check(user, password):
    return password == "hush of " + user
def fail(user, password):
    raise ValueError(f"{user} has shown {password}")
def leave(user, password):
    raise SystemExit(password)
def tell(user, password):
    return password
def wait(user, password):
    begun.append(user)
    return free.wait(60)
def compute(user, password):
    until = time.monotonic() + 1
    while time.monotonic() < until:
        pass
    return True
async def later(user, password):
    return True
def alone(user):
    return True
number = 1
"""
RIGHT: Final = "hush of ann"
WRONG: Final = "not her secret"
METHODS: Final[dict[str, Any]] = {"get_table": lambda _: answer("c")}


class Place(NamedTuple):
    """A module of a site, and who signs certificates."""

    module: Any
    authority: Authority

    def settings(self, function: str = "check") -> ThriftSettings:
        check = f"{MODULE}:{function}"
        return settings_of(configured(self.authority, PORT=0, HTTP_PORT=0, PASSWORD_CHECK=check))

    async def said(self, here: Running, password: str) -> Said:
        """What a client is told that shows this password of ann."""
        return await log_in(await here.connect(ssl=self.authority.trusted), "ann", password)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    (tmp_path / f"{MODULE}.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    authority = Authority(tmp_path / "authority")
    yield Place(__import__(MODULE), authority)
    sys.modules.pop(MODULE).free.set()


@pytest.fixture(autouse=True)
def _no_password_is_logged(log: WorkerLog) -> None:
    log.keep_out(RIGHT, WRONG, f"ann:{RIGHT}", f"ann:{WRONG}")


async def test_a_function_lets_in_whom_it_says(place: Place) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        assert await place.said(here.running, RIGHT) == (Status.COMPLETE, b"")
        said = await place.said(here.running, WRONG)
        assert said == (Status.BAD, b"wrong user name or password")
        for password, status in ((RIGHT, 200), (WRONG, 401)):
            request = call("get_table", headers=basic("ann", password))
            assert (await here.ask(request, ssl=place.authority.trusted)).status == status
        await until(lambda: 'refused_total{reason="login"} 2.0' in here.metrics())


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("fail", f"ValueError at {MODULE}.py:8"),
        ("leave", f"SystemExit at {MODULE}.py:10"),
        ("tell", "it returned a str in place of True or False"),
    ],
)
async def test_a_function_that_says_neither_lets_in_nobody(
    place: Place, log: WorkerLog, function: str, why: str
) -> None:
    async with serving(settings=place.settings(function)) as here:
        said = await place.said(here, RIGHT)
        assert said == (Status.BAD, b"the password can't be checked now: try again later")
    (fault,) = (entry for entry in log.entries if "function" in entry)
    assert (fault["function"], fault["why"]) == (f"{MODULE}:{function}", why)


async def test_a_function_that_hangs_holds_up_nobody_else(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_function, "CHECK_TIMEOUT_S", 1.0)
    async with serving_http(settings=place.settings("wait"), **METHODS) as here:
        waiting = [asyncio.create_task(place.said(here.running, RIGHT)) for _ in range(70)]
        await until(lambda: len(place.module.begun) == CHECKS_MAX)
        # The event loop answers meanwhile.
        said = await here.ask(call("get_table"), ssl=place.authority.trusted)
        assert said.status == 401
        refused = Status.BAD, b"the password can't be checked now: try again later"
        assert set(await asyncio.gather(*waiting)) == {refused}
        assert len(place.module.begun) == CHECKS_MAX
        place.module.free.set()
        await until(lambda: not any(one.name == "password" for one in threading.enumerate()))
        assert await place.said(here.running, RIGHT) == (Status.COMPLETE, b"")


async def test_the_event_loop_goes_on_while_a_function_computes(place: Place) -> None:
    checking = asyncio.create_task(PasswordFunction(f"{MODULE}:compute").check("ann", RIGHT))
    turns = 0
    while not checking.done():
        await asyncio.sleep(0.001)
        turns += 1
    await checking
    assert turns > 5


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("nothing", "can't be loaded: AttributeError"),
        ("later", "is a coroutine"),
        ("alone", "must be a function of a name and a password"),
        ("number", "must be a function of a name and a password"),
    ],
)
def test_what_can_not_check_is_told_at_the_start(place: Place, function: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        place.settings(function)
    assert f"thrift.password_check={MODULE}:{function}" in str(caught.value)


def test_a_module_that_is_not_there_or_fails_is_told(place: Place, tmp_path: Path) -> None:
    (tmp_path / "broken_checks.py").write_text("1 / 0")
    for name, why in (("no_such_checks", "No module named"), ("broken_checks", "ZeroDivision")):
        with pytest.raises(InputError, match=why):
            PasswordFunction(f"{name}:check")
