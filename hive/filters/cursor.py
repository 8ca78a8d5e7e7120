"""A position among the tokens of a filter."""

import re
from collections import deque
from itertools import islice

from hive.errors import FilterError
from hive.filters.tokens import Token, TokenKind, tokens


class Cursor:
    """Moves forward through a filter."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rest = tokens(text)
        self._ahead: deque[Token] = deque()

    @property
    def next(self) -> Token:
        return self._look(1)[0]

    def words(self, count: int) -> list[str]:
        """The next keywords and signs, as `Token.word` has them; fewer at the end of the filter."""
        return [token.word for token in islice(self._look(count), count)]

    def at_key_in_brackets(self) -> bool:
        # Most conditions don't begin with a bracket, and to look ahead takes time.
        return self.next.word == "(" and self.words(3) == ["(", "", ")"] and self._ahead[1].is_key

    def take(self) -> Token:
        return self._look(1).popleft()

    def take_text(self, pattern: re.Pattern[str]) -> str | None:
        """Takes all tokens of the text that the pattern matches from the next token on."""
        match = pattern.match(self.text, self.next.place)
        if match is None:
            return None
        self._ahead.clear()
        self._rest = tokens(self.text, match.end())
        return match[0]

    def skip(self, word: str) -> bool:
        """Takes the next token if it is this keyword or sign."""
        ahead = self._look(1)
        if ahead[0].word != word:
            return False
        ahead.popleft()
        return True

    def want(self, word: str) -> None:
        if not self.skip(word):
            raise self.expected(word)

    def key(self) -> Token:
        if not self.next.is_key:
            raise self.expected("the name of a key")
        return self.take()

    def expected(self, what: str) -> FilterError:
        instead = (
            "the filter ends" if self.next.kind is TokenKind.END else f"found {self.next.text[:30]}"
        )
        return self.error(f"expected {what}, but {instead}")

    def error(self, advice: str) -> FilterError:
        return FilterError(self.text, self.next.place, advice)

    def _look(self, count: int) -> deque[Token]:
        """The next tokens, so many at least unless the filter ends."""
        ahead = self._ahead
        while len(ahead) < count and (token := next(self._rest, None)) is not None:
            ahead.append(token)
        return ahead
