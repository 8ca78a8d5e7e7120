"""What `metatide audit` refuses; with a stack, see `tests.metatide.worker.test_shards`."""

import pytest
from click.testing import CliRunner

from hive.errors import InputError
from metatide.cli import root


@pytest.mark.parametrize("option", ["--sample", "--seed"])
def test_named_tables_are_no_sample(option: str) -> None:
    arguments = ["audit", "--table", "sales.orders", option, "3", "--kafka", "127.0.0.1:1"]
    with pytest.raises(InputError, match="leave out --sample and --seed"):
        CliRunner().invoke(root, arguments, catch_exceptions=False)
