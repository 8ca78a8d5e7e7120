from pathlib import Path

from processors.consumer.member import Member

ID = "one@10.0.0.1:8080-4f29b8c2"


def test_a_member_is_kept_for_the_same_worker_alone(tmp_path: Path) -> None:
    path = tmp_path / "faust" / "member"
    assert Member(path, "one@10.0.0.1:8080").id == ""
    Member(path, "one@10.0.0.1:8080").keep(ID)
    assert Member(path, "one@10.0.0.1:8080").id == ID
    assert Member(path, "one@10.0.0.1:9090").id == ID, "a free port is another one each time"
    for other in ("two@10.0.0.1:8080", "one@10.0.0.2:8080", "one@10.0.0.1"):
        assert Member(path, other).id == "", "the directory is a copy"
    path.write_bytes(b"\xff\x00torn")
    assert Member(path, "one@10.0.0.1:8080").id == ""


def test_where_it_can_not_be_kept_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "faust").write_text("a file where the folder should be")
    member = Member(tmp_path / "faust" / "member", "one@10.0.0.1:8080")
    member.keep(ID)
    assert member.id == ""
