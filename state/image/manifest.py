"""What an image consists of."""

from typing import Final

import msgspec

from hive.errors import ImageError
from state.store import Identity, Position

FORMAT: Final = 1


class File(msgspec.Struct, frozen=True):
    """A file of a store."""

    name: str
    size: int
    hash: str
    """blake2b, 32 bytes; also its name in the repository."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """An image of a shard at a position; an image without a manifest is none."""

    format: int = FORMAT
    identity: Identity
    position: Position
    exact: str
    """The exact digest of the shard, see `state.digest`; empty where it wasn't told."""
    made_s: float
    """When, as Unix time."""
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        return sum(one.size for one in self.files)

    @property
    def name(self) -> str:
        """Sorts as positions do."""
        return f"{self.position.epoch:010d}-{self.position.offset:020d}.json"


_decoder = msgspec.json.Decoder(Manifest)


def encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest))


def decode(data: bytes, where: str) -> Manifest:
    """Refuses what isn't a whole manifest of this format."""
    try:
        manifest = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise ImageError(f"the image {where} is torn: {error}. Delete it") from error
    if manifest.format != FORMAT:
        raise ImageError(f"the image {where} is of format {manifest.format}, not {FORMAT}")
    for one in manifest.files:
        # It is written to a folder by this name.
        if "/" in one.name or one.name in ("", ".", ".."):
            raise ImageError(f"the image {where} names a file {one.name!r}: it was tampered with")
    return manifest
