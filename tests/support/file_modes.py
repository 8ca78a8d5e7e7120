"""Files and folders of tests are readable by servers that run as other users.

Commands within a test, or within what it is set up with, withhold from others what the whole
process writes from then on.
"""

import os
from collections.abc import Iterator
from typing import Final

import pytest

_USUAL_MASK: Final = 0o022


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    os.umask(_USUAL_MASK)


@pytest.fixture(autouse=True)
def _usual_modes() -> Iterator[None]:
    yield
    os.umask(_USUAL_MASK)
