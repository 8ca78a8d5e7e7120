"""URLs as they may be shown: without their secrets."""

import re
from urllib.parse import unquote_plus

MASK = "***"
# Greedy, because drivers disagree on the end of a password.
_PASSWORD = re.compile(r"(//[^\s:/?#@]*:|(?:^|(?<=\s))[^\s:/?#@]+:(?!:|//))\S*@")
_PARAMETER = re.compile(r"([?&;])([^\s=&;]+)=([^\s&;]*)")
_SECRET = re.compile(
    r"pass(?!file|ive|word_command$)|pwd|secret|token|credential|signature|^sig$"
    r"|(access|account|api|shared|client|server)_?key$",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """A URL, or a text with URLs, with passwords, and parameters whose names say secret, masked."""
    return _PARAMETER.sub(_masked_parameter, _PASSWORD.sub(rf"\g<1>{MASK}@", text))


def _masked_parameter(match: re.Match[str]) -> str:
    separator, name, value = match.groups()
    is_secret = _SECRET.search(unquote_plus(name)) is not None
    return f"{separator}{name}={MASK if is_secret and value else value}"
