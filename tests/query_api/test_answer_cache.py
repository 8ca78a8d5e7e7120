"""What is kept takes only so much memory, and what is used stays."""

import pytest

from query_api import answer_cache
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.reasons import Reason
from query_api.shards import Views
from query_api.thrift import reply_cache as module
from query_api.thrift.metrics import MethodFigures
from query_api.thrift.reply_cache import cached_reply, reply_cache
from tests.query_api.shards import MemoryShard, MemoryShards, change, moment

KIB = 1024


def test_what_was_used_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_MAX", 100 * KIB)
    views = Views(MemoryShards(MemoryShard()))
    replies = reply_cache(views, lambda _: False)

    def put(call: bytes, size: int = 10 * KIB) -> None:
        figures = MethodFigures()
        reply = cached_reply(call, moment(views), (), 0, Reason.FRESH, b"x" * size, figures)
        replies.put(call, reply)

    for number in range(40):
        put(b"%d" % number)
        assert replies.get(b"0") is not None, "it is used again and again"
    assert replies.get(b"39") is not None
    assert replies.get(b"1") is None
    assert replies._bytes <= 100 * KIB
    put(b"0", module.RESULT_BYTES_MAX + 1)
    assert replies._bytes <= 100 * KIB
    for number in range(40):
        put(b"again", number)
    assert len(replies._answers) <= 10


def test_once_half_is_taken_a_question_must_come_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_MAX", 20 * KIB)
    views = Views(MemoryShards(MemoryShard()))
    replies = reply_cache(views, lambda _: False)
    assert replies.admits(b"a")
    reply = cached_reply(b"a", moment(views), (), 0, Reason.FRESH, b"x" * 12_000, MethodFigures())
    replies.put(b"a", reply)
    assert [replies.admits(call) for call in (b"b", b"c", b"b", b"b")] == [
        False,
        False,
        True,
        False,
    ]
    monkeypatch.setattr(answer_cache, "UNCACHED_MAX", 2)
    assert not replies.admits(b"d")
    assert not replies.admits(b"e"), "those asked for once are forgotten when they are too many"
    assert not replies.admits(b"c")


def test_nothing_of_a_rewound_history_is_given() -> None:
    views = Views(MemoryShards(MemoryShard()))
    rewound: list[int] = []
    replies = reply_cache(views, lambda epoch: epoch in rewound)
    reply = cached_reply(b"call", moment(views), (), 0, Reason.FRESH, b"x", MethodFigures())
    replies.put(b"call", reply)
    assert replies.get(b"call") is reply
    rewound.append(0)
    assert replies.get(b"call") is None


@pytest.mark.parametrize("max_age_ms", [0, 100])
def test_a_log_with_another_row_in_the_place_of_the_last_event_confirms_nothing(
    max_age_ms: int,
) -> None:
    own = moment(Views(MemoryShards(MemoryShard(change(3, after=0, mark=7)))))
    reply = cached_reply(b"call", own, own.targets, max_age_ms, Reason.FRESH, b"x", MethodFigures())

    def is_confirmed(mark: int) -> bool:
        return reply.confirm(LogEnd(0, 3, [(3, RowEffects())], marks={3: mark}))

    assert is_confirmed(7)
    assert not is_confirmed(8)
