import pytest

from hive.errors import InputError
from hive.schema.version import Version, parse_release


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("3.1.0", Version.V3_1),
        ("3.2.0", Version.V3_1),
        ("4.0.0-beta-1", Version.V4_0),
        ("4.0.0", Version.V4_0),
        ("4.1.0", Version.V4_1),
        ("4.2.0", Version.V4_1),
        ("4.10.0", Version.V4_1),
    ],
)
def test_a_release_has_the_shape_of_its_time(release: str, version: Version) -> None:
    assert parse_release(release) is version


@pytest.mark.parametrize("version", Version)
def test_what_we_write_into_a_new_schema_is_read_back_as_the_same_shape(version: Version) -> None:
    assert parse_release(version.release) is version


@pytest.mark.parametrize(
    "release", ["2.3.0", "3.0.0", "3.1.3000", "4.0.0-alpha-2", "5.0.0", "4.1", "", "four"]
)
def test_other_schemas_are_refused_by_name(release: str) -> None:
    with pytest.raises(InputError, match=f"schema version '{release}'"):
        parse_release(release)
