"""A list that finds, adds and removes in constant time, so that random choice stays cheap."""

from collections.abc import Hashable, Iterable, Iterator
from random import Random
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Bag(Generic[Item]):
    """Distinct items in an order that removal may change, though deterministically."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._items: list[Item] = []
        self._places: dict[Item, int] = {}
        for item in items:
            self.add(item)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def add(self, item: Item) -> None:
        """Adds an item that is not in the bag."""
        assert item not in self._places
        self._places[item] = len(self._items)
        self._items.append(item)

    def remove(self, item: Item) -> None:
        """Removes an item that is in the bag."""
        place = self._places.pop(item)
        last = self._items.pop()
        if place < len(self._items):
            self._items[place] = last
            self._places[last] = place

    def choice(self, rng: Random) -> Item:
        """A random item."""
        return self._items[rng.randrange(len(self._items))]

    def sample(self, rng: Random, count: int) -> list[Item]:
        """So many different items at random, or all if there are fewer."""
        return rng.sample(self._items, min(count, len(self._items)))
