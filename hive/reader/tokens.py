"""Reads delegation tokens, which metastores with DBTokenStore keep in their database."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, select

from hive.schema import Version, metadata


def stored_token(version: Version, keys: Collection[str]) -> Select[Any]:
    """A statement for what the store has under one of these keys."""
    tokens = metadata(version).tables["DELEGATION_TOKENS"].c
    return select(tokens.TOKEN).where(tokens.TOKEN_IDENT.in_(keys))
