"""What the URL of a database says about logging in."""

import shlex
import sys
from pathlib import Path
from threading import Thread

import pytest
import sqlalchemy as sa

from hive.reader import login as logins
from hive.reader.login import Login, PasswordError, split_login


def printing(script: str) -> Login:
    return Login({"password_command": shlex.join([sys.executable, "-c", script])})


def test_drivers_see_nothing_of_our_parameters() -> None:
    text = "postgresql://u@h:5/d?password_command=cat%20a&sslmode=require&tls_ca=/ca"
    url, login = split_login(sa.make_url(text))
    assert url.render_as_string() == "postgresql://u@h:5/d?sslmode=require"
    assert login.parameters == {"password_command": "cat a", "tls_ca": "/ca"}
    assert login.driver_settings("mysql") == {
        "ssl_ca": "/ca",
        "ssl_verify_cert": True,
        "ssl_verify_identity": True,
    }


def test_a_command_is_run_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = printing(f"import time; open({str(tmp_path / 'runs')!r}, 'a').write('.'); print('p')")
    threads = [Thread(target=login.password) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert login.password() == "p"
    assert (tmp_path / "runs").read_text() == "."
    monkeypatch.setattr(logins, "REUSED_S", 0.0)
    assert login.password() == "p"
    assert (tmp_path / "runs").read_text() == ".."


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/does/not/exist", "can't run: .*No such file"),
        ("'", "can't run: No closing quotation"),
        ("", "can't run"),
        ("true", "printed nothing"),
        ("false", "ended with 1: nothing on stderr"),
        ("sh -c 'echo secret; echo first >&2; echo last >&2; exit 3'", "ended with 3: last$"),
        ("sleep 9", "didn't end within 0.2 s"),
    ],
)
def test_a_command_that_prints_no_password_says_why(
    command: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "COMMAND_TIMEOUT_S", 0.2)
    with pytest.raises(PasswordError, match=rf"database\.password_command {reason}") as raised:
        Login({"password_command": command}).password()
    assert "secret" not in str(raised.value)
