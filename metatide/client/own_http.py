"""The HTTP client of a process, which others that fork from it don't share."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

import httpx

H = TypeVar("H", httpx.Client, httpx.AsyncClient)


class OwnHttp(Generic[H]):
    """Makes a client of httpx, and another one in each process that is forked: on a connection
    that both had, each would read answers to the questions of the other.
    """

    def __init__(self, kind: Callable[..., H], arguments: Mapping[str, Any]) -> None:
        self._make: Callable[[], H] = partial(kind, **arguments)
        self._http: H = self._make()
        self._pid = os.getpid()

    @property
    def client(self) -> H:
        if self._pid != os.getpid() and not self._http.is_closed:
            self._http, self._pid = self._make(), os.getpid()
        return self._http
