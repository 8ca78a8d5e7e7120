"""The page in a real browser, on a real stack: as somebody who has never seen it uses it."""

import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from hive.names import DatabaseName, TableName
from query_api.backend import Backend
from query_api.http import Check, Settings, create_app, create_status_app
from query_api.http.access import FileTokens
from query_api.http.page import ProcessInfo
from query_api.http.page.process_info import MethodCalls, ThriftPart
from tests.metatide.client.serving import serving, serving_app
from tests.metatide.page import HOSTILE, Filled, be_hostile, filled
from tests.query_api.http.read_client import Nowhere
from tests.query_api.http.warm_shards import warm
from tests.query_api.shards import (
    ORDERS,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    load_names,
    name_image,
)
from tests.support.chromium import PATIENCE_S, Chromium, chromium

pytestmark = [pytest.mark.chromium, pytest.mark.timeout(600)]

NARROW = 360
CONTRAST_MIN = 4.5
"""WCAG 2, level AA, for text."""
_LEAST_CONTRAST = Path(__file__).with_name("contrast.js")
_FOCUS = "document.activeElement"
BELOW = "/tools/metatide/"


@pytest.fixture(scope="module")
def here(kafka_broker: str) -> Iterator[Filled]:
    with filled("--kafka", kafka_broker, METATIDE_KAFKA_TOPIC="page") as found:
        be_hostile(found)
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as one:
        yield one


@pytest.fixture
def page(here: Filled, browser: Chromium) -> Iterator[Chromium]:
    """An open page; it has complained of nothing and has asked nobody else."""
    browser.requests.clear()
    browser.errors.clear()
    browser.look()
    browser.open("about:blank")
    browser.open(f"{here.stack.state.address}/")
    browser.until("document.querySelector('#state').dataset.tone === 'good'")
    yield browser
    # What a database says that is busy is shown in words, and isn't the page's fault.
    assert [one for one in browser.errors if "status of 503" not in one] == []
    assert {urlsplit(url).netloc for url in browser.requests} == {
        urlsplit(here.stack.state.address).netloc,
        urlsplit(here.worker).netloc,
    }


def link(*names: str) -> str:
    """The selector of the link to a database or a table."""
    return f'.names a[href="#/tables/hive/{"/".join(names)}"]'


def explain_until_hit(page: Chromium, ask: Callable[[], None]) -> None:
    """On a busy machine the cache may be some milliseconds behind at first."""
    deadline = time.monotonic() + PATIENCE_S
    while "Answered from the cache" not in page.text(".answer"):
        assert time.monotonic() < deadline, page.text(".answer")
        ask()
        time.sleep(0.2)


@pytest.mark.parametrize("is_light", [True, False], ids=["light", "dark"])
def test_a_new_user_sees_why_a_read_missed_warms_the_table_and_sees_it_hit(
    here: Filled, page: Chromium, is_light: bool
) -> None:
    table = here.tables[is_light]
    page.look(light=is_light)
    page.until_text("#health", "Recent events")
    page.click("nav a[data-view=tables]")
    page.click(link(here.db))
    page.click(link(here.db, table))
    page.until_text(".answer", "Answered by the database")
    assert "it hasn't been loaded yet" in page.text(".verdict")
    why = page.text(".answer")
    assert "cold" in why
    assert "no copy that it can trust" in why
    assert "It can also be warmed by order" in why
    page.until("document.querySelectorAll('.contents .part').length === 4")
    page.click("[data-order=warm]")
    page.until_text(".said", "It is in the cache now.")
    page.until_text(".badge", "warm")
    explain_until_hit(page, lambda: page.click(".explain button[type=submit]"))
    assert "fresh" in page.text(".answer")
    page.until_text(f"{link(here.db, table)} .mark", "warm")
    page.click("nav a[data-view=health]")
    page.until_text(".misses", "cold")
    page.until_text(".missed", f"{here.db}.{table}")
    page.until_text(".latency", "database over HTTP")
    page.until_text(".workers", f"Metatide {version('metatide')}")
    page.until_text(".calls", "Thrift")
    assert page.ask(_LEAST_CONTRAST.read_text()) >= CONTRAST_MIN


def test_a_table_is_found_in_all_databases(here: Filled, page: Chromium) -> None:
    table = here.tables[3]
    page.click("nav a[data-view=tables]")
    page.click(".everywhere > summary")
    page.until(f"{_FOCUS}.id === 'everywhere-filter'")
    page.type(table)
    link = f'.pane.everywhere a[href="#/tables/hive/{here.db}/{table}"]'
    page.until(f"document.querySelector({link!r})")
    page.click(link)
    page.until_text(".detail h2", table)


def test_the_keyboard_alone_will_do(here: Filled, page: Chromium) -> None:
    table = here.tables[2]

    def focused(script: str) -> None:
        """The focus comes to be on this, and can be seen there."""
        page.until(f"{_FOCUS}.matches({script!r})")
        assert page.ask(f"getComputedStyle({_FOCUS}).outlineStyle") == "solid"

    page.press("Tab")
    focused(".skip")
    page.press("Enter")
    page.until(f"{_FOCUS}.id === 'main'")
    page.press("Tab", shift=True)
    while page.ask(f"{_FOCUS}.dataset.view") != "tables":
        page.press("Tab", shift=True)
    page.press("Enter")
    page.until(f"document.querySelector({link(here.db)!r})")
    while page.ask(f"{_FOCUS}.id") != "databases-filter":
        page.press("Tab")
    page.type(here.db)
    page.until("document.querySelectorAll('.databases .names a').length === 1")
    page.press("ArrowDown")
    focused(link(here.db))
    page.press("Enter")
    page.until(f"document.querySelector({link(here.db, table)!r})")
    page.press("ArrowRight")
    focused(".pane.tables .names a")
    page.press("End")
    page.press("Home")
    while not page.ask(f"{_FOCUS}.matches({link(here.db, table)!r})"):
        page.press("ArrowDown")
    focused(link(here.db, table))
    page.press("Enter")
    page.until_text(".answer", "Answered by the database")
    page.press("ArrowRight")
    focused("[data-order=warm]")
    page.press("Space")
    page.until_text(".said", "It is in the cache now.")
    while page.ask(f"{_FOCUS}.innerText") != "Explain":
        page.press("Tab")
    focused("button.main")
    explain_until_hit(page, lambda: page.press("Enter"))
    page.press("Escape")
    focused(link(here.db, table))


def test_tables_are_refreshed_and_dropped(here: Filled, page: Chromium) -> None:
    table = here.tables[3]
    page.open(f"{here.worker}/#/tables/hive/{here.db}/{table}")
    page.click("[data-order=warm]")
    page.until_text(".said", "It is in the cache now.")
    page.click("[data-order=refresh]")
    page.until_text(".said", "It was loaded anew.")
    page.click("[data-order=drop]")
    page.until_text(".said", "It was dropped from the cache.")
    page.until_text(".badge", "cold")


def test_serving_is_paused_and_resumed(page: Chromium) -> None:
    page.click(".serving button")
    page.until_text("dialog", "the database answers every read")
    page.press("Escape")
    page.until("!document.querySelector('dialog').open")
    page.click(".serving button")
    page.click("dialog button.main")
    page.until_text("#state", "Serving is paused")
    page.click(".serving button.main")
    page.until_text("#state", "All is well")


def test_names_and_texts_are_never_markup(here: Filled, page: Chromium) -> None:
    page.open(f"{here.worker}/#/tables/hive/{here.db}")
    page.until(f"document.querySelector('.tables .names').innerText.includes({HOSTILE!r})")
    page.click(".tables .names li:first-child a")
    page.until_text(".detail h2", HOSTILE)
    page.until_text(".contents", "as <b>the source</b>")
    assert "partition key" in page.text(".contents")
    assert page.ask("document.querySelectorAll('main img, main b b').length") == 0
    page.click("#partition-filter")
    page.type("ds = '<i>'")
    page.press("Enter")
    page.until_text(".part [role=status]", "0 partitions found")


def test_everything_has_a_name_is_legible_and_fits_a_narrow_screen(
    here: Filled, page: Chromium
) -> None:
    for view in ("health", f"tables/hive/{here.db}", f"tables/hive/{here.db}/{here.tables[3]}"):
        page.look()
        page.open(f"{here.worker}/#/{view}")
        if "/" in view:
            page.until(f"document.querySelector({link(here.db, here.tables[3])!r})")
        if view.count("/") == 3:
            page.until("document.querySelectorAll('.contents .part').length === 4")
        for is_light in (True, False):
            page.look(light=is_light)
            assert page.nameless() == []
            assert page.ask(_LEAST_CONTRAST.read_text()) >= CONTRAST_MIN
        page.look(width=NARROW)
        page.until(f"innerWidth === {NARROW}")
        assert page.ask("document.documentElement.scrollWidth") <= NARROW


def test_charts_move(page: Chromium) -> None:
    drawn = "document.querySelector('.reads path.line.hit').getAttribute('d')"
    page.until(f"{drawn}.includes('L')")
    before = page.ask(drawn)
    page.until(f"{drawn} !== {before!r}")


def test_a_token_is_asked_for_where_one_is_needed(browser: Chromium, tmp_path: Path) -> None:
    """`secret` may read."""
    path = tmp_path / "tokens"
    path.write_text("read 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n")
    name: TableName = ORDERS
    with serving(warm(), settings=Settings(tokens=FileTokens(path))) as url:
        browser.open(f"{url}/#/tables/hive/{name.db}/{name.table}")
        browser.until_text("dialog", "Send a valid token")
        browser.type("wrong")
        browser.press("Enter")
        browser.until_text("#state", "A token is needed")
        browser.until("!document.querySelector('dialog').open")
        browser.until_text("#notices", "not valid here")
        browser.click("#token")
        browser.ask("document.querySelector('#token-field').value = 'secret'")
        browser.click("dialog button.main")
        browser.until_text(".detail", "You may look, but give no orders")
        browser.click("#partition-filter")
        browser.type("ds >")
        browser.press("Enter")
        browser.until_text(".part [role=status]", "ds >")
        browser.click("nav a[data-view=health]")
        browser.until_text(".workers", "answers from images")
        browser.until_text("#state", "The database doesn't answer")


def test_a_name_that_two_databases_have_leads_into_the_one_that_is_shown(
    browser: Chromium,
) -> None:
    other = DatabaseName("hive", "returns")
    databases = load_databases(1, database_image(SALES), database_image(other))
    names = [load_names(1, name_image(ORDERS.table), db=db) for db in (SALES, other)]
    with serving(MemoryShards(MemoryShard(change(1), *databases, *names[0], *names[1]))) as url:
        for db in (SALES.db, other.db):
            browser.open(f"{url}/#/tables/hive/{db}")
            browser.until(f"document.querySelector({link(db, ORDERS.table)!r})")


def test_an_address_that_is_wrongly_escaped_is_shown_as_it_is(browser: Chromium) -> None:
    with serving(warm()) as url:
        browser.open("about:blank")
        browser.open(f"{url}/#/tables/hive/a%")
        browser.until_text("#asked", "Asked at")
        browser.until_text("#tables", "does not answer")
    assert any("/v1/databases/a%25/tables" in url for url in browser.requests)


class Gateway:
    """Passes on what is asked for below a path of its own, without that path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            assert scope["path"].startswith(BELOW), scope["path"]
            begin = len(BELOW) - 1
            scope = {**scope, "path": scope["path"][begin:], "raw_path": scope["raw_path"][begin:]}
        await self._app(scope, receive, send)


def test_a_gateway_may_have_it_below_a_path_of_its_own(browser: Chromium) -> None:
    backend = Backend(warm(), Nowhere())
    app = create_app(backend)
    app.add_middleware(Gateway)
    with serving_app(app, backend=backend) as url:
        browser.open("about:blank")
        browser.requests.clear()
        browser.open(f"{url}{BELOW}#/tables/hive/sales")
        browser.until_text("#asked", "Asked at")
    assert {urlsplit(asked).path[: len(BELOW)] for asked in browser.requests} == {BELOW}


def test_what_shadow_mode_found_is_shown_with_the_calls(browser: Chromium) -> None:
    calls = [MethodCalls("get_table_req", 90, 0, 2, 2), MethodCalls("get_partitions", 7, 1, 0, 0)]
    process_info = ProcessInfo(thrift=lambda: ThriftPart(3, calls, []))
    backend = Backend(warm(), Nowhere())
    with serving_app(create_app(backend, process_info=process_info), backend=backend) as url:
        browser.look()
        browser.open(f"{url}/")
        browser.until_text(".calls", "get_table_req")
        assert "3 connections now" in browser.text(".calls")
        assert "Shadow mode found 2 differences" in browser.text(".calls")
        rows = "[...document.querySelectorAll('.calls tbody tr')].map((row) => row.innerText)"
        assert browser.ask(rows) == ["get_table_req\t90\t0\t2\t2", "get_partitions\t7\t1\t0\t–"]


def test_it_says_what_is_waited_for_where_no_worker_runs_yet(browser: Chromium) -> None:
    browser.open("about:blank")
    with serving_app(create_status_app([Check("Kafka", lambda: "no broker yet")])) as url:
        browser.open(url)
        browser.until_text("#state", "Not ready")
        browser.until_text("#notices", "Kafka: no broker yet")
