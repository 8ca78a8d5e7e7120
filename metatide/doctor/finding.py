"""The findings of checks."""

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """The status of a check."""

    OK = "ok"
    FAILED = "failed"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """The status of a check, what was seen, and the remedy."""

    status: Status
    detail: str
    remedy: str | None = None


def ok(detail: str) -> Finding:
    return Finding(Status.OK, detail)


def failed(detail: str, remedy: str) -> Finding:
    return Finding(Status.FAILED, detail, remedy)


def unchecked(detail: str, remedy: str) -> Finding:
    return Finding(Status.UNCHECKED, detail, remedy)
