"""Write-id lists: how long it takes to read, compare and fold them.

Beside each figure is a raw baseline: the least work in Python that could do something similar.
"""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter

from benchmarks.report import report
from hive.write_ids.lists import WriteIdList, write_id_list
from hive.write_ids.pages import Ended, Loaded
from hive.write_ids.relations import contains, equal
from hive.write_ids.text import parse_write_id_list, print_write_id_list
from hive.write_ids.tracker import WriteIdTracker
from hive.write_ids.view import WriteIdView

EXCEPTIONS = 100_000
REPEATS = 30
EVENTS = 20_000


class DictPages:
    def __init__(self) -> None:
        self.pages: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.pages.get(key)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(item for item in self.pages.items() if item[0].startswith(prefix)))

    def put(self, key: bytes, value: bytes) -> None:
        self.pages[key] = value

    def delete(self, key: bytes) -> None:
        self.pages.pop(key, None)

    def delete_prefix(self, prefix: bytes) -> None:
        for key in [key for key in self.pages if key.startswith(prefix)]:
            del self.pages[key]


def microseconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median duration of single runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return round(median(times) * 1e6, 1)


def reread(ids: WriteIdList) -> WriteIdList:
    """An equal list that shares no objects with the original, like one in another process."""
    return parse_write_id_list(print_write_id_list(ids))


def compare(name: str, requested: WriteIdList, cached: WriteIdList) -> None:
    first, other = reread(requested), reread(cached)
    sets = frozenset(first.exceptions), frozenset(other.exceptions)
    raw = microseconds(lambda: (sets[0] <= sets[1], sets[1] <= sets[0]))
    equal_us = microseconds(lambda: equal(first, other))
    report(f"equal: {name}", equal_us, "us", two_frozensets_us=raw)
    contains_us = microseconds(lambda: contains(other, first))
    report(f"contains: {name}", contains_us, "us", two_frozensets_us=raw)


def compare_lists() -> None:
    last = 2 * EXCEPTIONS
    every_second = range(2, last + 1, 2)
    full = write_id_list(last, every_second, table="d.t")
    compare("the same open ids", full, full)
    compare("one commit apart, the first", full, write_id_list(last, every_second[1:], table="d.t"))
    compare("one commit apart, the last", full, write_id_list(last, every_second[:-1], table="d.t"))
    compare("all aborted", write_id_list(last, (), every_second, "d.t"), full)
    compare("aborted and purged", write_id_list(last), write_id_list(last, (), every_second))
    compare("all open above the mark", write_id_list(last, range(1, last + 1)), write_id_list(0))
    spread = range(100, 100 * EXCEPTIONS + 1, 100)
    wide = write_id_list(spread[-1], spread, table="d.t")
    compare("every 100th id, one commit", wide, write_id_list(wide.hwm, spread[1:], table="d.t"))
    differing = [id_ for id_ in spread if id_ % 1000]
    compare("every 100th id, many commits", wide, write_id_list(wide.hwm, differing))
    apart = range(10**7, 10**7 * EXCEPTIONS + 1, 10**7)
    sparse = write_id_list(apart[-1], apart, table="d.t")
    compare("every 10-millionth id, one commit", sparse, write_id_list(sparse.hwm, apart[1:]))
    differing = [id_ for id_ in apart if id_ % 10**8]
    compare("every 10-millionth id, many commits", sparse, write_id_list(sparse.hwm, differing))


def read_lists() -> None:
    for count in (3, 1_000, EXCEPTIONS):
        ids = range(2, 2 * count + 1, 2)
        text = print_write_id_list(write_id_list(2 * count, ids, table="d.t"))
        csv = text.split(":")[3]
        raw = microseconds(lambda csv=csv: list(map(int, csv.split(","))))  # type: ignore[misc]
        value = microseconds(lambda text=text: parse_write_id_list(text))  # type: ignore[misc]
        report(f"read {count} exceptions", value, "us", list_of_ints_us=raw)


def fold_events(already_open: int) -> None:
    pages = DictPages()
    ids = WriteIdTracker(pages)
    ids.begin_load(0)
    ids.merge(Loaded(0, 0, already_open, tuple((n, n) for n in range(1, already_open + 1))), _none)
    start = perf_counter()
    for event in range(1, EVENTS, 2):
        id_ = already_open + (event + 1) // 2
        ids = WriteIdTracker(pages)
        ids.alloc(event, [(id_, id_)])
        ids.commit(event + 1, id_, frozenset({id_}))
    rate = EVENTS / (perf_counter() - start)
    start = perf_counter()
    open_ids: dict[int, int] = {}
    for event in range(1, EVENTS, 2):
        open_ids[event] = event
        open_ids.pop(event)
    raw = EVENTS / (perf_counter() - start)
    name = f"fold ALLOC and COMMIT, {already_open} ids open"
    report(name, round(rate), "events/s", dictionary_per_s=round(raw))
    if already_open:
        value = microseconds(lambda: WriteIdView(pages).snapshot(), 5)
        raw = microseconds(lambda: sorted(pages.pages.items()), 5)
        report(f"list of {already_open} open ids", value, "us", sort_the_pages_us=raw)


def _none(_txn: int) -> Ended | None:
    return None


def main() -> None:
    read_lists()
    compare_lists()
    for count in (0, 1_000, EXCEPTIONS):
        fold_events(count)


if __name__ == "__main__":
    main()
