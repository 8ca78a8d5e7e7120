"""Images: copies of shards in a directory or an object store, to begin from instead of a replay."""

from state.image.manifest import File, Manifest
from state.image.repository import Images

__all__ = ["File", "Images", "Manifest"]
