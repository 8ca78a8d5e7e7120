"""How tests run on mutants: quickly and alike, as if nothing had run before them."""

import sys
from functools import _lru_cache_wrapper

from hypothesis import Phase, settings

# It is asked only whether a test fails. To find the smallest example takes longer than all tests
# that pass, and by chance a mutant would be found today and not tomorrow.
settings.register_profile(
    "mutants",
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)


def pytest_collection_finish() -> None:
    """Forgets what functions remember: mutmut forks after it has run the tests on what is not
    mutated, and what is below such a function would never be called again.
    """
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            if isinstance(value, _lru_cache_wrapper):
                value.cache_clear()
