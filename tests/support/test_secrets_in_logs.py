"""That a secret is found in each form."""

import base64
import json
from urllib.parse import quote

import pytest

from tests.support.secrets_in_logs import assert_untold

SECRET = 'to"tell/none+'


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        quote(SECRET, safe=""),
        json.dumps({"password": SECRET}),
        SECRET.encode().hex(),
        *(base64.b64encode(b"x" * n + SECRET.encode() + b":after").decode() for n in range(1, 7)),
        base64.urlsafe_b64encode(b"\0me\0" + SECRET.encode()).decode(),
    ],
)
def test_a_log_with_a_secret_is_named(text: str) -> None:
    with pytest.raises(AssertionError, match="worker"):
        assert_untold([SECRET], {"worker": f"a line with {text}.", "connector": "none"})


def test_a_log_without_one_is_fine() -> None:
    assert_untold([SECRET], {"worker": base64.b64encode(b"something else").decode()})
