"""Secrets are found in a log, however they are spelled."""

import base64
import sys

import pytest
import structlog

from tests.support.worker_log import worker_log

SECRET = b"hush \xff\0 now"


@pytest.mark.parametrize(
    "shown",
    [
        SECRET,
        SECRET.decode(errors="replace"),
        SECRET.hex(),
        base64.b64encode(SECRET).decode(),
        base64.urlsafe_b64encode(SECRET).decode().rstrip("="),
        ValueError(SECRET),
    ],
)
@pytest.mark.parametrize("is_printed", [False, True])
def test_a_secret_that_was_written_is_found(
    capfd: pytest.CaptureFixture[str], shown: object, is_printed: bool
) -> None:
    def write() -> None:
        with worker_log(capfd) as log:
            log.keep_out(SECRET, "another one")
            if is_printed:
                sys.stderr.write(f"{shown}\n")
            else:
                structlog.get_logger().warning("a fault", why=shown)

    with pytest.raises(pytest.fail.Exception, match="the log shows secrets"):
        write()


def test_a_log_without_it_is_good(capfd: pytest.CaptureFixture[str]) -> None:
    with worker_log(capfd) as log:
        log.keep_out(SECRET)
        structlog.get_logger().warning("slow call", user="ann")
    assert log.users("slow call") == {"ann"}
