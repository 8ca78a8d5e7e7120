"""Orders to the workers of a group, and what their shards show of them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import httpx
import orjson

from hive.errors import MachineError, UnprovedError
from hive.names import TableName, parse_table_name
from metatide.cli.proved_workers import ProvedWorkers
from metatide.config import Config
from metatide.members import json_of, require_tables, worker_client, worker_urls
from metatide.topic import find_topic
from query_api.http.admin import PATH
from state.records.numbers import supersedes

TIMEOUT_S = 30.0
APPLIED_S_MAX = 30.0
LOOK_S = 0.1


@dataclass(frozen=True)
class Outcome:
    """What will happen to a table, or to several."""

    of_one: str
    of_several: str

    def show(self, tables: Sequence[str]) -> None:
        if len(tables) == 1:
            click.echo(f"{tables[0]}: {self.of_one}", err=True)
        elif tables:
            click.echo(f"{len(tables)} tables: {self.of_several}", err=True)


class WorkerOrders:
    """Sends orders to workers of the configured group, and waits until shards have applied them."""

    def __init__(self, config: Config) -> None:
        topic = self.topic = find_topic(config)
        client = worker_client(config, TIMEOUT_S)
        # The command closes it when it ends.
        self._client = click.get_current_context().with_resource(client)
        self._workers = ProvedWorkers(worker_urls(config, topic, config.worker_group))
        self._count = topic.shards

    def send(self, order: str, **body: Any) -> None:
        """Sends an order to any worker, which passes it on to a connector."""
        self._workers.first(
            lambda url: json_of(self._request("POST", f"{url}{PATH}/{order}", json=body))
        )

    def send_above(self, order: str, version: str, **body: Any) -> int:
        """Orders something for the whole cache, above the greatest version or epoch that any shard
        shows, which is returned: the worker that takes the order knows only those of its own
        shards. Raises MachineError if a member was left out and may hold shards that show a greater
        one, because these would ignore the order."""
        shards = self.shards()
        hidden = _lagging_shards(shards, self._count, lambda _: True)
        if hidden and self._workers.left_out:
            raise MachineError(
                f"no worker reports the state of {_shards_in_words(hidden)}, so the order wasn't "
                f"sent: start their workers (metatide status).{self._left_out_hint()}"
            )
        above = max((int(shard[version]) for shard in shards), default=0)
        self.send(order, above=above, **body)
        return above

    def send_and_wait(
        self, order: str, version: str, wanted: Mapping[str, Any], **body: Any
    ) -> None:
        """Orders something, and waits until every shard shows what is wanted, by this order or a
        later one: what it showed before may be about to change."""
        above = self.send_above(order, version, **body)

        def has_applied(shard: dict[str, Any]) -> bool:
            is_later = supersedes(int(shard[version]), above)
            return is_later and all(shard[name] == value for name, value in wanted.items())

        self.wait_until_applied(has_applied)

    def send_for_existing(self, order: str, tables: Sequence[str], outcome: Outcome) -> None:
        """Orders something for these tables, and prints what will happen. Raises InputError if one
        of them doesn't exist.
        """
        names = [*map(parse_table_name, tables)]

        def require(url: str) -> None:
            try:
                require_tables(self._client, url, names)
            except httpx.HTTPError as error:
                raise MachineError(f"{url} doesn't answer: {error}") from error

        self._workers.first(require)
        self.send(order, tables=tables)
        outcome.show(tables)

    def missing_tables(self, tables: Sequence[str]) -> list[TableName]:
        """Those of these tables that the metastore's database lacks; none where that can't be
        found out.
        """
        names = [*map(parse_table_name, tables)]
        # Write ids are never cached, so asking for them has no table loaded.
        body = {"names": [*map(str, names)]}
        try:
            answer = self._workers.first(
                lambda url: self._client.post(f"{url}/v1/write-ids", json=body)
            )
        except (httpx.HTTPError, UnprovedError):
            # The order has been given; this would only have been said beside it.
            return []
        if not answer.is_success:
            return []
        existing = {
            table["fullTableName"]
            for table in answer.json()["tables"]
            if table.get("id") is not None
        }
        return [name for name in names if str(name) not in existing]

    def shards(self) -> list[dict[str, Any]]:
        """The orders that each shard has applied, in the order of the shards."""
        states = [
            shard
            for answer in self._workers.each(lambda url: self._request("GET", f"{url}{PATH}"))
            for shard in orjson.loads(json_of(answer))
        ]
        return sorted(states, key=lambda shard: int(shard["shard"]))

    def wait_until_passed(self, number: int, offset: int) -> dict[str, Any]:
        """Waits until a shard has passed an offset, and either follows the topic again or stops
        before another record; returns its status."""
        deadline = time.monotonic() + APPLIED_S_MAX
        while True:
            for shard in self._statuses():
                passed = shard["shard"] == number and shard["offset"] > offset
                if passed and (shard["phase"] != "catching_up" or time.monotonic() > deadline):
                    return shard
            if time.monotonic() > deadline:
                raise MachineError(
                    f"shard {number} hasn't passed offset {offset} within {APPLIED_S_MAX:g} s: is "
                    "a connector running (metatide connect), and has the shard a worker (metatide "
                    f"status)?{self._left_out_hint()}"
                )
            time.sleep(LOOK_S)

    def _statuses(self) -> Iterator[dict[str, Any]]:
        """The status of each shard that a worker holds."""
        for answer in self._workers.each(lambda url: self._request("GET", f"{url}/v1/status")):
            yield from orjson.loads(json_of(answer))["shards"]

    def wait_until_applied(self, has_applied: Callable[[dict[str, Any]], bool]) -> None:
        """Waits until every shard has applied an order."""
        deadline = time.monotonic() + APPLIED_S_MAX
        while lagging := _lagging_shards(self.shards(), self._count, has_applied):
            if time.monotonic() > deadline:
                raise MachineError(
                    f"not all of the {self._count} shards applied the order within "
                    f"{APPLIED_S_MAX:g} s (missing: {_joined(lagging)}): is a connector running "
                    "(metatide connect), and do the workers follow (metatide status)?"
                    f"{self._left_out_hint()}"
                )
            time.sleep(LOOK_S)
        click.echo(f"all {self._count} shards have applied the order", err=True)

    def _left_out_hint(self) -> str:
        """A sentence for errors, with the workers that may hold shards that are missing."""
        left_out = self._workers.left_out
        return f" Left out above, {_joined(left_out)} may hold what is missing" if left_out else ""

    def _request(self, method: str, url: str, **more: Any) -> httpx.Response:
        try:
            return self._client.request(method, url, **more)
        except httpx.HTTPError as error:
            raise MachineError(f"{url} doesn't answer: {error}") from error


def _lagging_shards(
    states: Sequence[dict[str, Any]], count: int, has_applied: Callable[[dict[str, Any]], bool]
) -> list[int]:
    """The shards of a topic that haven't applied an order, or whose state no worker reports."""
    applied = {shard["shard"] for shard in states if has_applied(shard)}
    return [number for number in range(count) if number not in applied]


def _shards_in_words(numbers: Sequence[int]) -> str:
    return f"shard{'s' if len(numbers) > 1 else ''} {_joined(numbers)}"


def _joined(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
