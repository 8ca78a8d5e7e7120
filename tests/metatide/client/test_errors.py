"""Errors that leave the process in which they were raised."""

import copy
import pickle

import pytest

from metatide.client import NotFoundError, Position, ServerError, UnavailableError

ERRORS = [
    ServerError(400, "the filter is invalid"),
    NotFoundError(404, "there is no table", Position(1, 2)),
    UnavailableError(503, "no answer", retry_after_s=0.5),
]


@pytest.mark.parametrize("error", ERRORS)
def test_errors_reach_other_processes(error: ServerError) -> None:
    """Else a pool of processes breaks, or waits forever, where a read of it fails."""
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error)
        assert vars(other) == vars(error)
        assert str(other) == str(error) == f"{error.detail} ({error.status})"
