from collections.abc import Iterator

import pytest
import structlog

from metatide import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_a_traceback_shows_no_values(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(password: str) -> None:
        raise ValueError(f"{len(password)} characters")

    logs.configure()
    log = structlog.get_logger()
    log.info("all is well")
    try:
        fail("".join(["hu", "sh"]))
    except ValueError:
        log.exception("it failed", shard=3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "it failed" in err
    assert "shard=3" in err
    assert "in fail" in err
    assert "4 characters" in err
    assert "hush" not in err
    assert "all is well" not in err
