"""The findings of checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Status(Enum):
    """The status of a check."""

    OK = "ok"
    FAILED = "failed"
    UNCHECKED = "not checked"


_SEVERITY: Final = (Status.OK, Status.UNCHECKED, Status.FAILED)


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


def joined(findings: Mapping[str, Finding]) -> Finding:
    """What a check says of several services, by their addresses: the worst, with those whose it
    is.
    """
    worst = max((each.status for each in findings.values()), key=_SEVERITY.index)
    those = {name: each for name, each in findings.items() if each.status is worst}
    if worst is Status.OK:
        return ok("; ".join(dict.fromkeys(each.detail for each in those.values())))
    return Finding(
        worst,
        "; ".join(f"{name}: {each.detail}" for name, each in those.items()),
        "; ".join(dict.fromkeys(each.remedy or "" for each in those.values())),
    )
