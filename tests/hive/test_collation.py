"""What is certain of the order of texts, whatever the rules of a language say."""

from hive.collation import ALPHANUMERIC, BY_BYTES, DIGITS, UNKNOWN, Collation

ENGLISH = Collation("en-US", sure=ALPHANUMERIC)
CZECH = Collation("cs", sure=DIGITS)
DATES = ["ds=2023-12-31", "ds=2024-01-01", "ds=2024-01-02", "ds=2024-10-01"]


def test_where_bytes_decide_everything_is_sure() -> None:
    assert BY_BYTES.keeps(["B", "_", "a", "ä"])
    assert not UNKNOWN.keeps(["a", "b"])
    assert not UNKNOWN.keeps(["a", "ab"])
    assert UNKNOWN.keeps(["a"])


def test_digits_are_sure_in_every_language_and_letters_in_some() -> None:
    for collation in (ENGLISH, CZECH):
        assert collation.keeps(DATES)
        assert collation.keeps(["p=1", "p=10", "p=9"])
        assert not collation.keeps(["p=9", "p=_x"])
        assert not collation.keeps(["p=A", "p=a"])
    assert ENGLISH.keeps(["r=asia", "r=eu", "r=eu2", "r=us"])
    assert not CZECH.keeps(["r=ch", "r=cz"])
