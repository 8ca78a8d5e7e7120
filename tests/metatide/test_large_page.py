"""The page over 2,000 databases, thousands of tables in some, and a table of 100,000 partitions.

No frame may cost more than 100 ms of a usual machine, on a telephone and on a wide screen. That
holds because the page asks for, keeps and shows one page of each list, which is tested beside it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.chromium import Chromium, chromium
from tests.support.databases.large_catalog import Size, fill
from tests.support.frames import Frames, frames
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

pytestmark = [pytest.mark.chromium, pytest.mark.timeout(600)]

FRAME_MS_MAX: Final = 100
NODES_MAX: Final = 2_500
"""The elements of the whole page, whatever it shows."""
DATABASES: Final = 2_000
PARTITIONS: Final = 100_000
_SIZE: Final = Size(
    events=0,
    databases=DATABASES,
    tables=12_000,
    # Two databases have 4,000 tables and two more; the others have two.
    database_of_table=f"1 + mod(n, CASE WHEN n <= 8000 THEN 2 ELSE {DATABASES} END)",
    partitions=PARTITIONS,
    partitioned=1,
    fewer=1,
    transactions=0,
)
_LARGE: Final = "#/tables/hive/db2/t1"
"""The address of the table that has all partitions."""
_NOTE_LOADS: Final = """globalThis.loads = []; new MutationObserver(() => {
    globalThis.loads.push(document.querySelector(".connectors").textContent);
  }).observe(document.querySelector(".connectors"), {subtree: true, childList: true})"""
"""Takes note of what the page says of connectors, also while it shows something else."""
_SHOWN: Final = {".databases .names li": 200, ".tables .names li": 200, ".partitions li": 50}
"""What lists show at most."""


@pytest.fixture(scope="module")
def running(kafka_broker: str, new_database: Callable[[], str]) -> Iterator[Stack]:
    url = new_database()
    fill(url, _SIZE)
    environment = {"METATIDE_DATABASE_URL": url, "METATIDE_KAFKA_TOPIC": "large-page"}
    with (
        open_folder() as parent,
        stack(parent / "data", "--kafka", kafka_broker, **environment) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


@pytest.fixture(params=[390, 2000])
def page(running: Stack, browser: Chromium, request: pytest.FixtureRequest) -> Iterator[Chromium]:
    """An open page of this width, which asks for no more of a list than it may show."""
    browser.requests.clear()
    browser.errors.clear()
    browser.look(width=request.param)
    browser.open("about:blank")
    with _cheap(browser):
        browser.open(f"{running.entry('worker-1').address}/")
        browser.until("document.querySelector('#state').dataset.tone === 'good'")
    yield browser
    assert browser.errors == []
    for url in map(urlsplit, browser.requests):
        # All other answers are as long with many names as with few.
        if url.path.endswith(("/databases", "/tables", "/table-metadata", "/partition-names")):
            assert int(parse_qs(url.query)["limit"][0]) <= max(_SHOWN.values()), url


@contextmanager
def _cheap(page: Chromium) -> Iterator[Frames]:
    """No frame within the block costs too much, and not much is there in the end."""
    with frames(page) as watched:
        yield watched
    assert max(watched.costs_ms) < FRAME_MS_MAX * watched.slowness, sorted(watched.costs_ms)[-5:]
    assert page.ask("document.querySelectorAll('*').length") < NODES_MAX
    for rows, most in _SHOWN.items():
        assert page.ask(f"document.querySelectorAll({rows!r}).length") <= most
    assert page.nameless() == []
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")


def _scroll(page: Chromium, selector: str) -> None:
    """Scrolls through an element as somebody who looks for something in it."""
    page.ask(
        f"""(async () => {{ const node = document.querySelector({selector!r});
        for (let y = 0; y < node.scrollHeight; y += node.clientHeight / 2) {{
          node.scrollTo(0, y);
          await new Promise((shown) => requestAnimationFrame(shown));
        }} }})()"""
    )


def _turn(page: Chromium, pane: str, status: str, ranges: list[str]) -> None:
    """Turns to these pages of a list, one after the other."""
    for shown in ranges:
        page.click(f"{pane} .pages button:last-child")
        page.until_text(f"{pane} {status}", shown)


@pytest.mark.by_turns(2)
def test_all_databases_are_paged_through_and_filtered(page: Chromium) -> None:
    with _cheap(page):
        page.click("nav a[data-view=tables]")
        page.until_text(".databases .hint", "Showing databases 1 to 200")
        _scroll(page, ".databases .names")
        _turn(
            page,
            ".databases",
            ".hint",
            [f"databases {at + 1:,} to {at + 200:,}" for at in range(200, DATABASES, 200)],
        )
        assert page.ask("document.querySelector('.databases .pages button:last-child').disabled")
        page.click("#databases-filter")
        page.type("db1999")
        page.until_text(".databases .hint", "1 database")
        page.press("ArrowDown")
        page.press("Enter")
        page.until_text(".tables .hint", "2 tables")


@pytest.mark.by_turns(2)
def test_thousands_of_tables_are_paged_through_by_the_keyboard(page: Chromium) -> None:
    focus = "document.activeElement"
    with _cheap(page):
        page.ask("location.hash = '#/tables/hive/db1'")
        page.until_text(".tables .hint", "Showing tables 1 to 200")
        page.until_text(".tables .mark", "cold")
        page.click("#tables-filter")
        page.press("ArrowDown")
        page.press("End")
        # The list is one stop of Tab, wherever in it the focus is.
        page.press("Tab")
        page.until(f"{focus}.getAttribute('aria-label') === 'Next tables'")
        for at in range(200, 4_002, 200):
            page.press("Enter")
            page.until_text(".tables .hint", f"tables {at + 1:,} to {min(at + 200, 4_002):,}")
        page.until(f"{focus}.getAttribute('aria-label') === 'Previous tables'")
        page.press("Enter")
        page.until_text(".tables .hint", "tables 3,801 to 4,000")
        # Choosing one leaves the list where it is.
        page.click(".tables .names li:nth-child(100) a")
        page.until_text(".answer", "Answered")
        assert "tables 3,801 to 4,000" in page.ask(
            "document.querySelector('.tables .hint').textContent"
        )


def test_a_table_is_found_among_all(page: Chromium) -> None:
    with _cheap(page):
        page.ask("location.hash = '#/tables'")
        page.click(".everywhere > summary")
        page.until_text(".pane.everywhere .hint", "Showing tables 1 to 50")
        page.type("11999")
        page.until_text(".pane.everywhere .hint", "1 table")
        page.click(".pane.everywhere .names a")
        page.until_text(".detail h2", "t11999")


@pytest.mark.by_turns(2)
def test_partitions_are_paged_through_and_filtered(page: Chromium) -> None:
    with _cheap(page):
        page.ask(f"location.hash = {_LARGE!r}")
        page.until("document.querySelectorAll('.contents .part').length === 4")
        page.until_text(".part [role=status]", "100,000 partitions, 1 to 50 shown")
        _turn(
            page,
            ".part",
            "[role=status]",
            [f"{at + 1:,} to {at + 50:,} shown" for at in range(50, 2_000, 50)],
        )
        page.click("#partition-filter")
        page.type("p = '77777'")
        page.press("Enter")
        page.until_text(".part [role=status]", "1 partition found")
    # How many there are was asked once for each filter, not for each page.
    counts = [url for url in page.requests if "partition-count" in url]
    assert len(counts) == 2, counts


@pytest.mark.by_turns(2)
def test_a_table_of_many_partitions_becomes_warm_while_the_page_looks_on(page: Chromium) -> None:
    with _cheap(page):
        page.ask(_NOTE_LOADS)
        page.ask(f"location.hash = {_LARGE!r}")
        page.click("[data-order=refresh]")
        page.until_text(".said", "It was loaded anew.")
        page.until_text(".badge", "warm")
        page.click("nav a[data-view=health]")
        page.until("loads.some((text) => /1 load in progress .[1-9]\\S* partitions./.test(text))")
        page.until("!document.querySelector('.connectors').innerText.includes('load in progress')")


def test_a_frame_that_costs_too_much_is_seen(browser: Chromium) -> None:
    browser.open("about:blank")
    with frames(browser) as watched:
        # A busy browser says that it traces before it does.
        for _ in range(3):
            browser.ask("(() => { let sum = 0; for (let i = 0; i < 1e9; i++) sum += i; })()")
    assert max(watched.costs_ms) > FRAME_MS_MAX
