"""What a check found."""

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How it stands with what was checked."""

    OK = "ok"
    FAILED = "failed"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """The state of one thing, what was seen of it, and what to do about it."""

    status: Status
    detail: str
    remedy: str | None = None


def ok(detail: str) -> Finding:
    return Finding(Status.OK, detail)


def failed(detail: str, remedy: str) -> Finding:
    return Finding(Status.FAILED, detail, remedy)


def unchecked(detail: str, remedy: str) -> Finding:
    return Finding(Status.UNCHECKED, detail, remedy)
