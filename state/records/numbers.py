"""Which numbers a record may carry.

Others are refused when it is read, so that the fold, which stores them in so many bytes, is total
over all that can be read.
"""

from typing import Annotated

from msgspec import Meta

Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""An event id, a version, a count."""
Word = Annotated[int, Meta(ge=0, le=2**32 - 1)]
"""A number of four bytes."""
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""An i64 of Thrift, of which nothing is known but that."""
