"""Units of sizes."""

from typing import Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20
