"""Passwords that a function of the deployment checks."""

import asyncio
import importlib
import inspect
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import structlog

from hive.errors import InputError, RefusedLoginError
from query_api.thrift.sasl.plain import WRONG

CHECK_TIMEOUT_S: Final = 5.0
"""How long a client waits for the function."""
CHECKS_MAX: Final = 64
"""The number of passwords that are checked at a time; others wait for their turn."""

log = structlog.get_logger(__name__)
Function = Callable[[str, str], Any]
"""Takes a name and a password, and returns True or False."""


class PasswordFunction:
    """Runs the function in a thread for each password. One that hangs keeps its place until it
    ends, so that there are never more threads than places.
    """

    def __init__(self, name: str) -> None:
        """`name` is MODULE:FUNCTION. Raises InputError if that can't be used."""
        self._name = name
        self._function = load_function(name)
        self._turn = asyncio.Semaphore(CHECKS_MAX)

    async def check(self, user: str, password: str) -> str:
        """The user's name as it was given. Raises RefusedLoginError if this isn't the user's
        password, or if the function doesn't say.
        """
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                verdict = await self._verdict(user, password)
        except TimeoutError:
            raise self._undecided(user, "no answer in time") from None
        if verdict is False:
            raise RefusedLoginError(WRONG, f"user {user!r}: {self._name} says no")
        if verdict is not True:
            raise self._undecided(user, _fault(verdict))
        return user

    def _undecided(self, user: str, why: str) -> RefusedLoginError:
        log.warning("a password can't be checked", function=self._name, why=why)
        return RefusedLoginError(
            "the password can't be checked now: try again later",
            f"user {user!r}: {self._name} can't check the password",
        )

    async def _verdict(self, user: str, password: str) -> object:
        """What the function returns or raises."""
        await self._turn.acquire()
        loop = asyncio.get_running_loop()
        verdict: asyncio.Future[object] = loop.create_future()

        def end(outcome: object) -> None:
            self._turn.release()
            if not verdict.done():
                verdict.set_result(outcome)

        def run() -> None:
            outcome: object
            try:
                outcome = self._function(user, password)
            # One that calls sys.exit must give its place back, too.
            except BaseException as error:
                outcome = error
            # The worker may have ended in the meantime.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(end, outcome)

        # Other threads would keep the worker from ending.
        threading.Thread(target=run, name="password", daemon=True).start()
        return await verdict


def load_function(name: str) -> Function:
    """The function MODULE:FUNCTION. Raises InputError if there is none that can be used."""
    key = f"thrift.password_check={name}"
    module_name, _, function_name = name.partition(":")
    try:
        function: Function = getattr(importlib.import_module(module_name), function_name)
    # A module may fail in any way while it is imported.
    except Exception as error:
        raise InputError(
            f"{key} can't be loaded: {type(error).__name__}: {error}; its module must be installed "
            "beside metatide, or in a folder of PYTHONPATH"
        ) from error
    if inspect.iscoroutinefunction(function):
        raise InputError(f"{key} is a coroutine: it must be a plain function, run in a thread")
    try:
        inspect.signature(function).bind("user", "password")
    except (TypeError, ValueError) as error:
        raise InputError(f"{key} must be a function of a name and a password: {error}") from error
    return function


def _fault(verdict: object) -> str:
    """What is wrong with a verdict that is none, without any value: it may be the password."""
    if isinstance(verdict, BaseException):
        place = traceback.extract_tb(verdict.__traceback__)[-1]
        return f"{type(verdict).__name__} at {Path(place.filename).name}:{place.lineno}"
    return f"it returned a {type(verdict).__name__} in place of True or False"
