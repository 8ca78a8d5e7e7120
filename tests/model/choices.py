"""Choices of a generated example: small numbers that stand for what there is to choose from."""

from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

NUMBERS: Final = 8
"""Each choice takes a number below this; one of more options takes more numbers."""


class Choices:
    """Gives one choice after another; where the numbers end, the first option."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = iter(numbers)

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def below(self, count: int) -> int:
        number, range_ = next(self._numbers, 0), NUMBERS
        while range_ < count:
            number, range_ = number * NUMBERS + next(self._numbers, 0), range_ * NUMBERS
        return number % count

    def some(self, options: Sequence[T]) -> list[T]:
        """One or more of the options."""
        bits = 1 + self.below((1 << len(options)) - 1)
        return [option for at, option in enumerate(options) if bits >> at & 1]
