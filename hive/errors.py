"""Every error that Metatide raises on purpose. The message says what, where, and what to do."""

import re


class MetatideError(Exception):
    """A failure with a message for a person; the command line prints it in one line."""

    exit_status = 1


class InputError(MetatideError):
    """Something that a person or a client gave us is wrong."""

    exit_status = 2


class MachineError(MetatideError):
    """The machine lacks something: a program, a port, room on disk, a network."""


class DeadlockError(MachineError):
    """The database undid a whole transaction, for it and others waited for each other."""


class NameFormatError(InputError):
    """The name of a table or of a partition that no metastore could have written."""

    def __init__(self, text: str, advice: str) -> None:
        super().__init__(f"bad name {text!r}: {advice}")


class ThriftError(InputError):
    """Thrift bytes, TJSON or a mapping that are not what the struct's description says."""


class ColdShardError(MachineError):
    """The store of a shard can't be trusted: it is set aside, and the shard is built again."""


class LockedStoreError(MachineError):
    """Somebody else has this store open."""


class ClosedStoreError(MetatideError):
    """The store was closed before or while it was read."""


class ImageError(InputError):
    """An image that is torn, tampered with or lost, or a place where none can be kept."""


class OtherStoreError(InputError):
    """A sound store, but not the one asked for: of another format, topic or shard."""


class WriteIdListError(InputError):
    """A text that is no write-id list, with the place where it stops being one."""

    def __init__(self, text: str, place: int, advice: str) -> None:
        super().__init__(f"bad write-id list {_where(text, place)}: {advice}")


class PatternError(InputError):
    """A pattern of names that is refused."""

    def __init__(self, pattern: str, why: str) -> None:
        super().__init__(f"bad pattern {pattern[:30]!r}{'…' if len(pattern) > 30 else ''}: {why}")


class FilterError(InputError):
    """A text that is no filter of partitions, with the place where it stops being one."""

    def __init__(self, text: str, place: int, advice: str) -> None:
        super().__init__(f"bad filter {_where(text, place)}: {advice}")


class FilterNotSupportedError(InputError):
    """A filter, sound by its grammar, of which the metastore's own answer can't be told."""


class UncertainOrderError(InputError):
    """Only the database knows which of two texts it sorts before the other."""


class RecordFormatError(InputError):
    """A message of the topic that this release can't read."""


class EventError(InputError):
    """A row of the notification log that can't be read. Its table must be loaded again."""

    def __init__(self, event_id: int, event_type: str, why: str) -> None:
        short = why if len(why) <= 300 else f"{why[:300]}…"
        super().__init__(f"event {event_id} ({event_type}) can't be read: {short}")
        self.event_id = event_id
        self.event_type = event_type


class SourceError(MachineError):
    """The metastore's database doesn't give what a connector must read; it may do so later."""


class PublishError(MachineError):
    """The topic didn't take what a connector wrote; it goes on from what the topic holds."""


class TopicError(MachineError):
    """The events topic can't be read now; it may be later."""


class TaskError(MachineError):
    """What went wrong in a Spark task.

    Spark hands on no errors but the text of a traceback, so ours are marked in it.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"«{what}»")

    @staticmethod
    def find(text: str) -> str | None:
        """The message of the first one in a text."""
        found = re.search(r"TaskError: «(.*?)»", text, re.DOTALL)
        return None if found is None else " ".join(found[1].split())


class OtherTopicError(InputError):
    """A topic that can't be the one that is configured: of another partition count."""


class NoSuchObjectError(InputError):
    """What was asked for isn't in the metastore: an answer, not a failure."""


class TooLargeError(InputError):
    """A request or an answer beyond a limit."""


class ForbiddenError(InputError):
    """Who asks may not do this."""


class UnansweredError(MachineError):
    """Neither the cache nor the database can answer now."""

    def __init__(self, why: str, retry_after_s: float) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


class UpstreamError(MachineError):
    """No metastore behind the Thrift server answers, or one answers what can't be understood."""


class JavaError(MachineError):
    """The process of Java beside a worker doesn't run, or doesn't answer in time."""


def _where(text: str, place: int) -> str:
    start = max(place - 30, 0)
    excerpt = text[start : place + 30]
    before = "…" if start else ""
    after = "…" if place + 30 < len(text) else ""
    return f"at character {place} of {before}{excerpt!r}{after}"
