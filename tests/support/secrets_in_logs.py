"""Searches what processes have written for secrets, in the forms in which libraries write them."""

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote


def assert_untold(secrets: Iterable[str | bytes], logs: Mapping[str, str]) -> None:
    """Fails with the names of the logs that hold a secret."""
    forms = [form for secret in secrets for form in forms_of(secret)]
    assert forms
    told = [name for name, text in logs.items() if any(form in text for form in forms)]
    assert told == [], f"secrets in the logs of {told}"


def logs_in(folder: Path) -> dict[str, str]:
    """The logs below a folder by their paths."""
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace")
        for path in folder.rglob("*.log*")
        if path.is_file()
    }


def forms_of(secret: str | bytes) -> set[str]:
    """A secret as text, as Python shows it, in hexadecimal digits, in URLs, in JSON, and in base64
    with something around it.
    """
    data = secret.encode() if isinstance(secret, str) else secret
    hexadecimal = data.hex()
    text = data.decode(errors="replace")
    forms = {repr(data)[2:-1], hexadecimal, hexadecimal.upper(), *_within_base64(data)}
    return forms | {text, repr(text)[1:-1], quote(text, safe=""), json.dumps(text)[1:-1]}


def _within_base64(data: bytes) -> set[str]:
    """What base64 has of it whatever stands before and after: as from its place in threes."""
    forms = set()
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        whole = text[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return forms
