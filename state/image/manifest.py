"""The manifest of an image: its files, digest and position."""

from typing import Final

import msgspec

from hive.errors import UNDECODABLE, ImageError, OtherImageError
from hive.urls import masked
from state.store import Identity, StorePosition

FORMAT: Final = 1


class File(msgspec.Struct, frozen=True):
    """A file of an image."""

    name: str
    size: int
    hash: str
    """The BLAKE2b hash (32 bytes), which is also the file's name in the repository."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """An image of a shard: the position that it holds, and its files."""

    # Files without a manifest are no image.

    format: int = FORMAT
    identity: Identity
    position: StorePosition
    exact: str
    """The exact digest of the shard, see `state.digest`; empty if it wasn't computed."""
    made_s: float
    """When the image was made, as Unix time."""
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def order(self) -> tuple[int, float]:
        """The order of a shard's images, the oldest first.

        The offset counts, which only grows. The epoch doesn't: a shard that forged records have
        raised to another returns to a lower one.
        """
        return self.position.offset, self.made_s

    @property
    def name(self) -> str:
        """The file name of the manifest. Names don't sort as images do: see `order`."""
        place = f"{self.position.epoch:010d}-{self.position.offset:020d}"
        # Another release may have made an image at the same place.
        return f"{place}-{self.identity.format_version}.json"


class _Format(msgspec.Struct):
    format: int


_decode_format = msgspec.json.Decoder(_Format).decode
_decoder = msgspec.json.Decoder(Manifest)


def encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest))


def decode(data: bytes, where: str) -> Manifest:
    """Decodes a manifest; refuses a torn one and other formats."""
    try:
        format_ = _decode_format(data).format
        if format_ != FORMAT:
            raise OtherImageError(f"the image {masked(where)} is of format {format_}, not {FORMAT}")
        manifest = _decoder.decode(data)
    except UNDECODABLE as error:
        raise ImageError(f"the image {masked(where)} is torn: {error}. Delete it") from error
    for file in manifest.files:
        # The file is written to a folder under this name.
        if "/" in file.name or file.name in ("", ".", ".."):
            raise ImageError(
                f"the image {masked(where)} names a file {file.name!r}: the image was tampered with"
            )
    return manifest
