"""What the parameters of tables and partitions say of their statistics."""

import pytest

from hive.errors import InputError
from hive.write_ids.lists import WriteIdList
from query_api.thrift.methods.statistics_compliance import columns_with_statistics, complies

UP_TO_3 = WriteIdList(3)


@pytest.mark.parametrize(
    ("accurate", "is_said"),
    [
        ('{"BASIC_STATS":"true"}', True),
        ('{"BASIC_STATS":"True","COLUMN_STATS":{}}', True),
        ('{"COLUMN_STATS":{"id":"true"}}', False),
        ("TRUE", True),
        ("false", False),
        (None, False),
    ],
)
def test_statistics_comply_that_are_said_to_be_accurate(
    accurate: str | None, is_said: bool
) -> None:
    parameters = {} if accurate is None else {"COLUMN_STATS_ACCURATE": accurate}
    assert complies(parameters, 3, UP_TO_3) is is_said
    assert not complies(parameters, 4, UP_TO_3)
    assert complies(parameters, 0, UP_TO_3)


@pytest.mark.parametrize("text", ["", "{", "1", '["COLUMN_STATS"]'])
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    parameters = {"COLUMN_STATS_ACCURATE": text}
    with pytest.raises(InputError, match="COLUMN_STATS_ACCURATE is"):
        complies(parameters, 1, UP_TO_3)
    with pytest.raises(InputError, match="COLUMN_STATS_ACCURATE is"):
        columns_with_statistics(parameters)


@pytest.mark.parametrize("text", ["true", '{"COLUMN_STATS":"id"}', '{"BASIC_STATS":"true"}'])
def test_no_columns_are_named_outside_a_map(text: str) -> None:
    assert columns_with_statistics({"COLUMN_STATS_ACCURATE": text}) == ()
    named = {"COLUMN_STATS_ACCURATE": '{"COLUMN_STATS":{"b":"true","a":"true"}}'}
    assert columns_with_statistics(named) == ("b", "a")
