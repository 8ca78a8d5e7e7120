import socket
from pathlib import Path

from tests.support.containers import engine_listens


def test_an_engine_is_found_by_its_socket(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        engine.listen()
        assert engine_listens(f"unix://{path}")
    assert not engine_listens(f"unix://{path}")
    assert not engine_listens(f"unix://{tmp_path}/missing.sock")


def test_an_engine_is_found_by_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as engine:
        url = f"tcp://127.0.0.1:{engine.getsockname()[1]}"
        assert engine_listens(url)
    assert not engine_listens(url)
