"""Images: copies of shards in a directory or an object store, from which workers start instead of
replaying the topic."""

from state.image.manifest import File, Manifest
from state.image.repository import Images

__all__ = ["File", "Images", "Manifest"]
