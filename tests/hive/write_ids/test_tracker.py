import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive.write_ids import tracker
from hive.write_ids.lists import write_id_list
from hive.write_ids.pages import Ended, Loaded, WriteIdsCold
from hive.write_ids.snapshot import TxnState
from hive.write_ids.tracker import WriteIdTracker
from hive.write_ids.view import WriteIdView
from tests.hive.write_ids.memory import MemoryPages
from tests.hive.write_ids.metastore import ToyMetastore, fold

OPERATIONS = {
    "alloc": 4,
    "realloc": 1,
    "commit": 5,
    "abort": 2,
    "abort_silently": 1,
    "purge": 1,
    "restart": 1,
    "drop": 1,
    "write": 2,
    "other": 1,
}
NAMES = [name for name, weight in OPERATIONS.items() for _ in range(weight)]


@st.composite
def metastores(draw: st.DrawFn) -> ToyMetastore:
    store = ToyMetastore(names_ids=draw(st.booleans()))
    count = draw(st.integers(0, 40))
    step = st.tuples(st.sampled_from(NAMES), st.integers(0, 5))
    steps = draw(st.lists(step, min_size=count, max_size=count))
    for name, which in steps:
        getattr(store, name)(1 + which % 3 if name == "alloc" else which)
    return store


def nobody(_txn: int) -> Ended | None:
    """No transaction has ended."""
    return None


def deliver(ids: WriteIdTracker, store: ToyMetastore, first: int, last: int) -> None:
    for event in store.events[first:last]:
        fold(ids, event)


def check_against_the_truth(ids: WriteIdView, store: ToyMetastore) -> None:
    """A known list has exactly the committed ids, but for aborted ones that were forgotten."""
    rows = store.after[-1]
    snapshot = ids.snapshot("d.t")
    if snapshot is None or rows.restarted:
        return
    assert snapshot.hwm == rows.next_id - 1
    assert not set(snapshot.open) & set(snapshot.aborted)
    for id_ in range(1, rows.next_id):
        if id_ in rows.committed:
            assert snapshot.is_valid(id_)
    for txn, id_ in rows.ids.items():
        state = rows.txns[txn]
        if state is TxnState.OPEN:
            assert id_ in snapshot.open
            assert ids.id_of(txn) == id_
        if state is TxnState.ABORTED:
            assert not snapshot.is_valid(id_)


@given(metastores(), st.data())
@settings(deadline=None)
def test_events_alone_tell_the_truth_or_nothing(store: ToyMetastore, data: st.DataObject) -> None:
    pages = MemoryPages()
    applied = 0
    for _ in range(data.draw(st.integers(0, 3))):
        until = data.draw(st.integers(applied, len(store.events)))
        again = data.draw(st.integers(0, applied))
        deliver(WriteIdTracker(pages), store, again, until)
        applied = until
    deliver(WriteIdTracker(pages), store, applied, len(store.events))
    check_against_the_truth(WriteIdView(pages), store)
    plain = MemoryPages()
    deliver(WriteIdTracker(plain), store, 0, len(store.events))
    assert plain.pages == pages.pages


@given(metastores(), st.data())
@settings(max_examples=500, deadline=None)
def test_any_order_of_a_load_and_the_events_around_it_gives_the_same_bytes(
    store: ToyMetastore, data: st.DataObject
) -> None:
    last = len(store.events)
    lo = data.draw(st.integers(0, last), label="lo")
    hi = data.draw(st.integers(lo, last), label="hi")
    txns_at, ids_at, next_at = data.draw(st.tuples(*[st.integers(lo, hi)] * 3), label="read at")
    load = store.load(txns_at, ids_at, next_at, lo, hi)

    first = MemoryPages()
    ids = WriteIdTracker(first)
    ids.begin_load(0)
    assert ids.merge(load, nobody)
    deliver(ids, store, lo, last)

    pages = MemoryPages()
    begin = data.draw(st.integers(0, lo), label="begin")
    arrival = data.draw(st.integers(begin, last), label="arrival")
    deliver(WriteIdTracker(pages), store, 0, begin)
    WriteIdTracker(pages).begin_load(begin)
    deliver(WriteIdTracker(pages), store, data.draw(st.integers(0, begin)), arrival)
    assert WriteIdTracker(pages).merge(load, store.ended(arrival).get)
    assert not WriteIdTracker(pages).merge(load, store.ended(arrival).get)
    deliver(WriteIdTracker(pages), store, data.draw(st.integers(0, arrival)), last)
    assert pages.pages == first.pages

    if store.after[lo].lives == store.after[hi].lives:
        check_against_the_truth(WriteIdView(pages), store)


def loaded_list(
    hwm: int = 5, opened: tuple[tuple[int, int], ...] = (), aborted: tuple[int, ...] = ()
) -> WriteIdTracker:
    """A list just loaded as of event 10."""
    ids = WriteIdTracker(MemoryPages())
    ids.begin_load(10)
    assert ids.merge(Loaded(10, 10, hwm, opened, aborted), nobody)
    return ids


def test_nothing_is_known_before_a_load_or_a_first_id() -> None:
    ids = WriteIdTracker(MemoryPages())
    assert ids.cold is WriteIdsCold.UNKNOWN
    assert ids.snapshot() is None
    ids.alloc(3, [(7, 4)])
    assert ids.cold is WriteIdsCold.UNKNOWN
    ids.alloc(5, [(8, 1), (9, 2)])
    assert ids.cold is None
    assert ids.snapshot("d.t") == write_id_list(2, [1, 2], table="d.t")


def test_open_ids_are_committed_or_aborted() -> None:
    ids = loaded_list(opened=((101, 4), (102, 5)), aborted=(2,))
    assert ids.snapshot() == write_id_list(5, [4, 5], [2])
    assert (ids.min_open(), ids.open_count, ids.is_open(4), ids.is_open(3)) == (4, 2, True, False)
    ids.commit(11, 101, frozenset({4, 9}))
    ids.abort(12, 102)
    ids.commit(13, 999, frozenset({77}))
    assert ids.snapshot() == write_id_list(5, [], [2, 5])
    assert (ids.min_open(), ids.open_count, ids.position) == (None, 0, 12)


@pytest.mark.parametrize("first", [2, 4, 5, 7, 1 << 62, 0, -1])
def test_ids_that_do_not_follow_the_last_ones_are_a_doubt(first: int) -> None:
    ids = loaded_list()
    ids.alloc(11, [(200, first)])
    assert ids.cold is WriteIdsCold.ALLOC_GAP
    assert ids.cold_since == 11


def test_an_allocation_that_repeats_itself_is_none() -> None:
    ids = loaded_list(opened=((101, 4), (102, 5)))
    ids.alloc(11, [(101, 4), (102, 5)])
    assert ids.snapshot() == write_id_list(5, [4, 5])


def test_ids_that_begin_anew_are_known() -> None:
    ids = loaded_list(opened=((101, 4),), aborted=(2,))
    ids.alloc(11, [(200, 1)])
    assert ids.snapshot() == write_id_list(1, [1])
    assert ids.id_of(101) is None


def test_the_first_id_again_for_its_own_transaction_is_a_doubt_once_others_followed() -> None:
    ids = loaded_list(hwm=1, opened=((101, 1),))
    ids.alloc(11, [(101, 1)])
    assert ids.snapshot() == write_id_list(1, [1])
    ids.alloc(12, [(102, 2)])
    ids.alloc(13, [(101, 1)])
    assert ids.cold is WriteIdsCold.ALLOC_AGAIN


def test_a_new_id_replaces_the_one_that_the_transaction_had() -> None:
    ids = loaded_list(opened=((101, 5),))
    ids.alloc(11, [(101, 6)])
    assert ids.snapshot() == write_id_list(6, [6], [5])
    ids.commit(12, 101, frozenset({6}))
    assert ids.snapshot() == write_id_list(6, [], [5])


def test_a_commit_that_does_not_name_our_id_is_a_doubt() -> None:
    ids = loaded_list(opened=((101, 5),))
    ids.commit(11, 101, frozenset({4}))
    assert ids.cold is WriteIdsCold.COMMIT_WITHOUT_ID


def test_a_commit_that_names_nothing_at_all_is_taken_at_its_word() -> None:
    ids = loaded_list(opened=((101, 5),))
    ids.commit(11, 101, None)
    assert ids.snapshot() == write_id_list(5)


def test_an_id_that_was_never_allocated_is_a_doubt() -> None:
    ids = loaded_list()
    ids.see(11, 5)
    assert ids.cold is None
    ids.see(12, 6)
    assert ids.cold is WriteIdsCold.ID_ABOVE_HWM


def test_a_drop_ends_all_knowledge_and_a_later_one_asks_for_a_later_load() -> None:
    ids = loaded_list()
    ids.forget(11, WriteIdsCold.DROPPED)
    ids.forget(15, WriteIdsCold.RENAMED)
    assert (ids.cold, ids.cold_since, ids.hwm) == (WriteIdsCold.RENAMED, 15, 0)


def test_a_transaction_that_vanished_is_a_doubt() -> None:
    ids = loaded_list(opened=((101, 4),))
    ids.alloc(12, [(102, 6)])
    ids.expect_open(10, {101})
    ids.expect_open(12, {101, 102, 103})
    assert ids.cold is None
    ids.expect_open(11, {102})
    assert ids.cold is WriteIdsCold.HIDDEN_ABORT
    assert (ids.cold_since, ids.position) == (12, 12)


def test_transactions_are_not_expected_before_the_load_that_told_of_them() -> None:
    ids = loaded_list(opened=((101, 4),))
    ids.expect_open(9, set())
    assert ids.cold is None
    ids.begin_load(10)
    ids.expect_open(10, set())
    assert ids.cold is None


def test_a_load_without_a_beginning_or_older_than_it_brings_nothing() -> None:
    ids = loaded_list()
    assert not ids.merge(Loaded(20, 20, 9), nobody)
    ids.begin_load(30)
    assert not ids.merge(Loaded(29, 40, 9), nobody)
    assert ids.loading
    ids.end_load()
    assert not ids.merge(Loaded(30, 40, 9), nobody)
    assert ids.hwm == 5


def test_a_load_ahead_of_the_events_swallows_them() -> None:
    ids = WriteIdTracker(MemoryPages())
    ids.begin_load(10)
    assert ids.merge(Loaded(20, 20, 9, ((101, 9),)), nobody)
    ids.alloc(15, [(90, 8)])
    ids.forget(16, WriteIdsCold.DROPPED)
    ids.see(17, 99)
    ids.commit(18, 101, None)
    assert ids.snapshot() == write_id_list(9, [9])


def test_a_load_keeps_what_happened_after_it() -> None:
    ids = loaded_list(opened=((101, 5),))
    ids.begin_load(10)
    ids.alloc(12, [(102, 6)])
    ids.commit(13, 101, None)
    ended = {101: Ended(13, True), 102: Ended(9, False)}
    assert ids.merge(Loaded(11, 11, 5, ((101, 5),), (3,)), ended.get)
    assert ids.snapshot() == write_id_list(6, [6], [3])


def test_a_drop_that_overtook_a_load_ends_what_the_load_brought() -> None:
    ids = loaded_list()
    ids.begin_load(10)
    ids.forget(12, WriteIdsCold.DROPPED)
    assert ids.merge(Loaded(11, 11, 5), nobody)
    assert (ids.cold, ids.cold_since) == (WriteIdsCold.DROPPED, 12)


def test_an_event_may_carry_an_id_and_end_the_list() -> None:
    ids = loaded_list(9)
    ids.begin_load(10)
    ids.see(11, 8)
    ids.forget(11, WriteIdsCold.RENAMED)
    assert ids.merge(Loaded(10, 10, 9), nobody)
    assert ids.cold is WriteIdsCold.RENAMED


def test_of_the_ids_that_one_event_carries_the_greatest_counts() -> None:
    ids = loaded_list(9)
    ids.begin_load(10)
    ids.see(11, 8)
    ids.see(11, 6)
    assert ids.merge(Loaded(10, 10, 7), nobody)
    assert ids.cold is WriteIdsCold.ID_ABOVE_HWM


def test_a_load_that_is_older_than_the_one_before_it_brings_nothing() -> None:
    ids = WriteIdTracker(MemoryPages())
    ids.begin_load(10)
    assert ids.merge(Loaded(20, 20, 5), nobody)
    ids.begin_load(10)
    assert not ids.merge(Loaded(15, 15, 4), nobody)


def test_a_load_counts_the_ids_that_it_lists() -> None:
    assert loaded_list(0, opened=((101, 7),)).hwm == 7
    assert loaded_list(0, aborted=(8,)).hwm == 8


def test_an_allocation_of_nothing_changes_nothing() -> None:
    ids = loaded_list(opened=((101, 5),))
    ids.alloc(11, [])
    assert ids.snapshot() == write_id_list(5, [5])


def test_ids_may_be_as_great_as_numbers_are() -> None:
    most = (1 << 62) - 1
    ids = loaded_list(most, opened=((most, most),), aborted=(most - 1,))
    assert ids.snapshot() == write_id_list(most, [most], [most - 1])
    assert ids.id_of(most) == most


def test_what_was_known_leaves_no_trace_in_a_cold_list() -> None:
    traces = []
    for load in (Loaded(10, 30, 5, ((101, 5),), (2,)), Loaded(11, 11, 7)):
        pages = MemoryPages()
        ids = WriteIdTracker(pages)
        ids.begin_load(10)
        assert ids.merge(load, nobody)
        ids.forget(31, WriteIdsCold.DROPPED)
        traces.append(pages.pages)
    assert traces[0] == traces[1]


def torn(hwm: int, opened: tuple[tuple[int, int], ...], aborted: tuple[int, ...]) -> WriteIdTracker:
    """A list loaded between events 10 and 20, when none of these had been folded."""
    ids = WriteIdTracker(MemoryPages())
    ids.begin_load(10)
    assert ids.merge(Loaded(10, 20, hwm, opened, aborted), nobody)
    return ids


def test_a_load_between_two_events_may_know_what_they_allocate() -> None:
    ids = torn(7, ((101, 6),), (7,))
    ids.alloc(11, [(99, 5)])
    ids.alloc(12, [(101, 6)])
    ids.alloc(13, [(102, 7), (103, 8)])
    assert ids.snapshot() == write_id_list(8, [5, 6, 8], [7])
    ids.commit(15, 99, None)
    ids.abort(16, 102)
    assert ids.snapshot() == write_id_list(8, [6, 8], [7])
    ids.alloc(21, [(104, 7)])
    assert ids.cold is WriteIdsCold.ALLOC_GAP


def test_a_load_between_two_events_may_know_the_id_that_replaces_theirs() -> None:
    ids = torn(7, ((101, 7),), ())
    ids.alloc(11, [(101, 6)])
    ids.alloc(12, [(101, 7)])
    assert ids.snapshot() == write_id_list(7, [7], [6])


def test_a_load_between_two_events_may_not_know_an_id_by_another_transaction() -> None:
    ids = torn(7, ((101, 7),), ())
    ids.alloc(11, [(102, 7)])
    assert ids.cold is WriteIdsCold.ALLOC_GAP


def test_ids_that_began_anew_during_a_load_are_known_from_events_alone() -> None:
    ids = torn(7, ((101, 1),), (4,))
    ids.alloc(11, [(101, 1)])
    assert ids.snapshot() == write_id_list(1, [1])
    assert ids.reflects == 11
    ids.alloc(12, [(102, 2)])
    ids.commit(13, 102, None)
    ids.alloc(14, [(103, 2)])
    assert ids.cold is WriteIdsCold.ALLOC_GAP


def test_a_load_that_too_much_overtook_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "JOURNAL_MAX", 2)
    ids = loaded_list()
    ids.begin_load(10)
    ids.see(11, 3)
    ids.see(11, 4)
    ids.see(12, 4)
    assert ids.loading
    ids.see(13, 4)
    assert not ids.loading
    assert not ids.merge(Loaded(11, 11, 5), nobody)
    assert ids.cold is None


def test_too_many_open_ids_are_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "OPEN_MAX", 3)
    ids = WriteIdTracker(MemoryPages())
    ids.alloc(1, [(txn, txn) for txn in range(1, 4)])
    assert ids.cold is None
    ids.begin_load(1)
    assert not ids.merge(Loaded(1, 1, 9, tuple((txn, txn) for txn in range(1, 5))), nobody)
    assert ids.merge(Loaded(1, 1, 3, tuple((txn, txn) for txn in range(1, 4))), nobody)
    ids.alloc(2, [(4, 4)])
    assert ids.cold is WriteIdsCold.TOO_MANY_OPEN


@given(st.permutations(range(1, 9)), st.integers(0, 8))
def test_the_lowest_aborted_ids_are_forgotten_in_any_order(order: list[int], loaded: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracker, "ABORTED_MAX", 3)
        patch.setattr(tracker, "BITS_A_PAGE", 2)
        patch.setattr("hive.write_ids.view.BITS_A_PAGE", 2)
        aborted, rest = order[:loaded], order[loaded:]
        ids = loaded_list(8, opened=tuple((100 + id_, id_) for id_ in rest), aborted=tuple(aborted))
        for event, id_ in enumerate(rest, start=11):
            ids.abort(event, 100 + id_)
        assert ids.snapshot() == write_id_list(8, [], [6, 7, 8])


def test_an_event_touches_few_pages_however_many_ids_are_open() -> None:
    pages = MemoryPages()
    ids = WriteIdTracker(pages)
    ids.begin_load(0)
    many = 100_000
    assert ids.merge(
        Loaded(0, 0, many, tuple((7 * id_, id_) for id_ in range(1, many + 1))), nobody
    )
    pages.touched = 0
    ids = WriteIdTracker(pages)
    ids.alloc(1, [(7 * many + 1, many + 1)])
    ids.commit(2, 7 * 500, None)
    ids.abort(3, 7 * 900)
    assert pages.touched < 30
    assert max(map(len, pages.pages.values())) < 1500
    snapshot = ids.snapshot()
    assert snapshot is not None
    assert (snapshot.hwm, len(snapshot.open), list(snapshot.aborted)) == (many + 1, many - 1, [900])


def test_an_allocation_that_comes_again_during_a_load_is_none() -> None:
    once, twice = loaded_list(), loaded_list()
    for ids, times in ((once, 1), (twice, 2)):
        ids.begin_load(10)
        for _ in range(times):
            ids.alloc(11, [(101, 6)])
        assert ids.merge(Loaded(10, 10, 5), nobody)
    assert twice.snapshot() == once.snapshot() == write_id_list(6, [6])


def test_ids_that_were_never_allocated_are_not_open() -> None:
    ids = loaded_list(5, opened=((101, 5),))
    assert [ids.is_open(write_id) for write_id in (0, 4, 5, 6)] == [False, False, True, False]
    assert ids.reflects == 10
