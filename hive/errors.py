"""All errors that Metatide raises on purpose. A message says what, where, and what to do."""

import re
from typing import Final

import msgspec

UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that it can't decode: a text that isn't UTF-8 is none of its own
errors, nor are too many levels, be it in a field that it skips."""


class MetatideError(Exception):
    """A failure with a message for people; the command line prints it in one line."""

    exit_status = 1


class InputError(MetatideError):
    """A person or a client has given wrong input."""

    exit_status = 2


class MachineError(MetatideError):
    """The machine lacks something: a program, a port, room on disk, a network."""


class DeadlockError(MachineError):
    """The database rolled back a transaction to resolve a deadlock."""


_SHOWN_MAX: Final = 80
"""How much of a text from outside an error repeats."""


class NameFormatError(InputError):
    """A name of a table or a partition that no metastore could have written."""

    def __init__(self, text: str, advice: str) -> None:
        super().__init__(f"bad name {text[:_SHOWN_MAX]!r}: {advice}")


class ThriftError(InputError):
    """Thrift bytes, TJSON or a mapping that doesn't match the description of its struct."""


class ColdShardError(MachineError):
    """The store of a shard can't be trusted: it is set aside, and the shard is built again."""


class LockedStoreError(MachineError):
    """Another process, or this one, has the store open already."""


class ClosedStoreError(MetatideError):
    """The store was closed before or while it was read."""


class ImageError(InputError):
    """An image is torn, tampered with or lost, or its place can't be used."""


class OtherImageError(ImageError):
    """A sound manifest, but of a format that this release can't read."""


class StorageError(MachineError, OSError):
    """The storage of images doesn't answer, or refuses something."""


class OtherStoreError(InputError):
    """A sound store, but not the expected one: its format, topic or shard differs."""


class WriteIdListError(InputError):
    """A text that isn't a write-id list, with the place of the first fault."""

    def __init__(self, text: str, place: int, advice: str) -> None:
        super().__init__(f"bad write-id list {_where(text, place)}: {advice}")


class PatternError(InputError):
    """A pattern of names is refused."""

    def __init__(self, pattern: str, why: str) -> None:
        super().__init__(f"bad pattern {pattern[:30]!r}{'…' if len(pattern) > 30 else ''}: {why}")


class FilterError(InputError):
    """A text that isn't a filter of partitions, with the place of the first fault."""

    def __init__(self, text: str, place: int, advice: str) -> None:
        super().__init__(f"bad filter {_where(text, place)}: {advice}")


class FilterNotSupportedError(InputError):
    """A well-formed filter for which the metastore's answer is uncertain."""


class UncertainOrderError(InputError):
    """Only the database knows the order of two texts."""


class RecordFormatError(InputError):
    """A message of the topic can't be read by this release."""

    def __init__(self, why: str, reason: str = "damaged") -> None:
        super().__init__(why)
        self.reason = reason
        """The reason in a word."""


class UnreadableRecordError(MachineError):
    """A record of the events topic that nobody passes before it can be read, or before an operator
    orders it to be skipped."""

    def __init__(self, shard: int, offset: int, error: RecordFormatError) -> None:
        # Its arguments make it anew in another process.
        super().__init__(shard, offset, error)
        self.shard = shard
        self.offset = offset
        self.reason = error.reason
        self._why = str(error)

    def __str__(self) -> str:
        place = f"{self.shard} {self.offset}"
        return (
            f"shard {self.shard} stops at offset {self.offset} ({self.reason}): {self._why}; "
            f"`metatide topic record {place}` shows the record, `metatide admin skip {place}` "
            "passes it over"
        )


class EventError(InputError):
    """A row of the notification log can't be read. Its table must be loaded again."""

    def __init__(self, event_id: int, event_type: str, why: str) -> None:
        short = why if len(why) <= 300 else f"{why[:300]}…"
        super().__init__(f"event {event_id} ({event_type}) can't be read: {short}")
        self.event_id = event_id
        self.event_type = event_type


class SourceError(MachineError):
    """The metastore's database can't be read now; a later attempt may succeed."""


class RefusedLoadError(InputError):
    """A load that fails because of what is to be loaded: another attempt would fail again."""


class PublishError(MachineError):
    """The brokers refused a connector's record; it resumes from what the topic holds."""


class UnwritableRecordError(PublishError):
    """A record that could not be read again, so it is not written."""


class TopicError(MachineError):
    """The events topic can't be read now; a later attempt may succeed."""


class NoTopicError(TopicError):
    """There is no events topic yet."""


class StoppedError(MachineError):
    """Work was given up because whoever wanted it has been told to end."""


class NoKdcError(TopicError):
    """No key distribution centre answers now, so that there is no ticket to show the brokers."""


class TaskError(MachineError):
    """An error in a Spark task.

    Spark passes on only the text of a traceback, so our messages are marked in it.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"«{what}»")

    @staticmethod
    def find(text: str) -> str | None:
        """The first marked message in a text."""
        match = re.search(r"TaskError: «(.*?)»", text, re.DOTALL)
        return None if match is None else " ".join(match[1].split())


class OtherTopicError(InputError):
    """The topic isn't the configured one: its number of partitions differs."""


class TrimmedTopicError(InputError):
    """The topic lacks records without which a shard can't be built from it alone."""


class NoSuchObjectError(InputError):
    """The metastore has no such object: an answer, not a failure."""


class RemoteDatabaseError(InputError):
    """The tables of a database are in another system, which only metastores ask."""

    def __init__(self, db: str) -> None:
        super().__init__(
            f"{db} is a remote database: its tables are in another system, which metastores ask; "
            "read them over Thrift, from a worker or a metastore"
        )


class TooLargeError(InputError):
    """A request or an answer exceeds a limit."""


class MediaTypeError(InputError):
    """The body of a request is of another type than the server reads."""


class ForbiddenError(InputError):
    """The caller may not do this."""


class RefusedLoginError(InputError):
    """A client hasn't proved who it is. The message is for the client, `details` are for the log;
    neither holds a secret.
    """

    def __init__(self, why: str, details: str = "") -> None:
        super().__init__(why)
        self.details = details or why


class TokenFormatError(InputError):
    """Bytes that aren't those of a delegation token."""


class UnansweredError(MachineError):
    """Neither the cache nor the database can answer now."""

    def __init__(self, why: str, retry_after_s: float) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


class UpstreamError(MachineError):
    """No metastore behind the Thrift server answers, or its answer can't be understood."""


class MetastoreLoginError(UpstreamError):
    """A metastore refuses a login."""


class UnimpersonatedError(UpstreamError):
    """A metastore lets the worker in, but not act for a certain user."""


class UnprovedError(MachineError):
    """The answer of another worker doesn't prove that it has the workers' secret."""


class CutOffError(UnprovedError):
    """The answer of another worker ended before all of it was proved."""


class JavaError(MachineError):
    """The Java process beside a worker isn't running, or doesn't answer in time."""


def _where(text: str, place: int) -> str:
    start = max(place - 30, 0)
    excerpt = text[start : place + 30]
    before = "…" if start else ""
    after = "…" if place + 30 < len(text) else ""
    return f"at character {place} of {before}{excerpt!r}{after}"
