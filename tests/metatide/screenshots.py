"""Takes the screenshots in docs/images: `make screenshots`, for which Chromium must be there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx

from tests.metatide.page import Filled, filled, metatide
from tests.support.chromium import Chromium, chromium

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WATCHED_S = 45.0
"""For so long charts move before they are shown."""
_RUN = ("demo", "run", "--events-per-s", "12", "--writers", "2", "--tables", "12")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with filled("--workers", "2") as here, chromium() as browser:
        browser.look()
        browser.open(here.worker)
        browser.until("document.querySelector('#state').dataset.tone === 'good'")
        browser.open(f"{here.worker}/#/tables/hive/{here.db}/{here.tables[0]}")
        browser.until_text(".answer", "Answered by the database")
        browser.until("document.querySelectorAll('.contents .part').length === 4")
        _show(browser, "table")
        browser.look(width=390, height=844)
        browser.screenshot(IMAGES / "page-narrow.png")
        browser.look()
        browser.open(f"{here.worker}/#/health")
        with _read_by_many(here):
            metatide(here.stack, *_RUN, "--seconds", str(WATCHED_S))
            _show(browser, "health")


def _show(browser: Chromium, name: str) -> None:
    for scheme in ("light", "dark"):
        browser.look(light=scheme == "light")
        browser.screenshot(IMAGES / f"page-{name}-{scheme}.png")


@contextmanager
def _read_by_many(here: Filled) -> Iterator[None]:
    """Readers of what changes, of what is there, and of what only the database knows."""
    stop = Event()
    thread = Thread(target=_read, args=(here.worker, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _read(url: str, stop: Event) -> None:
    with httpx.Client(base_url=url, timeout=30) as client:
        tables = client.get("/v1/table-metadata").json()["tables"]
        names = [(one["dbName"], one["tableName"]) for one in tables if "<" not in one["tableName"]]
        for number, (db, table) in enumerate(_forever(names, stop)):
            path = f"/v1/databases/{db}/tables/{table}"
            client.get(f"{path}?consistency=latest")
            client.get(f"{path}/partition-names?consistency=latest")
            if number % 10 == 0:
                client.get("/v1/databases?consistency=latest")
            time.sleep(0.03)


def _forever(names: list[tuple[str, str]], stop: Event) -> Iterator[tuple[str, str]]:
    while not stop.is_set():
        # Some are read far more often than others, and some never.
        for rank, name in enumerate(names[: len(names) * 2 // 3]):
            yield from [name] * (3 if rank < 5 else 1)


if __name__ == "__main__":
    main()
