"""What headers require."""

import pytest

from hive.errors import InputError
from query_api.http.requirement_headers import required_by_headers

LATEST = (b"metatide-consistency", b"latest")


def test_headers_name_parameters() -> None:
    headers = [LATEST, (b"accept", b"*/*"), (b"metatide-min-position", b"0:7")]
    required = {"consistency": "latest", "min_position": "0:7"}
    assert required_by_headers({"headers": headers}) == required


def test_a_header_that_comes_twice_is_refused() -> None:
    with pytest.raises(InputError, match="give the header metatide-consistency once"):
        required_by_headers({"headers": [LATEST, LATEST]})
