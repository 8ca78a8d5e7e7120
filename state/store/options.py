"""The options of RocksDB: memory bounded for all shards together, and compression that takes
effect.

Each column family has its own table options, and RocksDB takes the compression from there: options
of the database alone leave the families uncompressed or on defaults.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    WriteBufferManager,
    WriteOptions,
)

from hive.units import KIB, MIB

_BLOCK_FORMAT: Final = 6
_BLOOM_BITS_PER_KEY: Final = 10
_FIRST_LEVEL_BYTES: Final = 4 * MIB
_FILE_BYTES: Final = 16 * MIB
_FLUSHED_FILES: Final = 4
_FLUSHED_FILES_DEFERRED: Final = 24
_FLUSHED_FILES_MAX: Final = 100
_LEVEL_BYTES_DEFERRED: Final = 256 * MIB
_ARENA_BLOCK_BYTES: Final = 64 * KIB
_WRITE_BUFFER_BLOOM_RATIO: Final = 0.005
_MANIFEST_BYTES_MAX: Final = 4 * MIB
_LOG_BYTES_MAX: Final = MIB
_LOG_FILES_MAX: Final = 3
_ZSTD_WINDOW_BITS: Final = -14
_ZSTD_LEVEL: Final = 1
"""With a dictionary, higher levels make partitions no smaller."""
_ZSTD_STRATEGY: Final = 0
_TRAINING_RATIO: Final = 25
"""With four times as many bytes the dictionary isn't better, but takes a tenth of all merging."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A column family: the kinds of entries (first bytes of keys) that it holds, and its options.

    Entries that share most of their bytes with others in other blocks, as partitions do, profit
    from a dictionary, which holds the shared bytes once per file.
    """

    name: str
    kinds: bytes = b""
    block_bytes: int = 16 * KIB
    dictionary_bytes: int = 0


class MemoryBudget:
    """The memory of all stores opened with it: cached blocks, indexes, write buffers.

    Write buffers are charged to the cache, so the one number bounds both. A full budget makes
    RocksDB flush early; it never stalls a writer, because rocksdict holds Python's lock while it
    writes, and a stalled writer would stop everything.
    """

    def __init__(self, bytes_max: int) -> None:
        assert bytes_max >= 8 * MIB, "less memory than a store needs to make progress"
        self.bytes_max = bytes_max
        self.cache = Cache(bytes_max)
        self.write_buffers = WriteBufferManager.new_write_buffer_manager_with_cache(
            bytes_max // 4, False, self.cache
        )

    @property
    def bytes(self) -> int:
        """What is used of it now."""
        return self.cache.get_usage()


def database_options(budget: MemoryBudget, *, create: bool) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.create_missing_column_families(create)
    options.set_write_buffer_manager(budget.write_buffers)
    # All families go to disk at one moment, or none does: see `write_options`.
    options.set_atomic_flush(True)
    options.set_max_manifest_file_size(_MANIFEST_BYTES_MAX)
    options.set_max_log_file_size(_LOG_BYTES_MAX)
    options.set_keep_log_file_num(_LOG_FILES_MAX)
    options.set_stats_dump_period_sec(0)
    return options


def family_options(family: Family, budget: MemoryBudget) -> Options:
    table = BlockBasedOptions()
    table.set_block_cache(budget.cache)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    table.set_block_size(family.block_bytes)
    table.set_bloom_filter(_BLOOM_BITS_PER_KEY, False)
    table.set_format_version(_BLOCK_FORMAT)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(min(32 * MIB, budget.bytes_max // 8))
    # Most keys that the fold reads are in files or don't exist.
    options.set_memtable_whole_key_filtering(True)
    options.set_memtable_prefix_bloom_ratio(_WRITE_BUFFER_BLOOM_RATIO)
    # Many small shards mustn't cost a megabyte a family.
    options.set_arena_block_size(_ARENA_BLOCK_BYTES)
    # Each few flushed files are merged with this much of the store. It would be 256 MB, which is
    # often all of it, and stores flush four times a minute.
    options.set_max_bytes_for_level_base(_FIRST_LEVEL_BYTES)
    options.set_level_zero_file_num_compaction_trigger(_FLUSHED_FILES)
    # Beyond it RocksDB slows writers down, and so everything: see `MemoryBudget`.
    options.set_level_zero_slowdown_writes_trigger(_FLUSHED_FILES_MAX)
    options.set_level_zero_stop_writes_trigger(_FLUSHED_FILES_MAX)
    # RocksDB collects so many bytes, before they are compressed, to make a dictionary of them.
    options.set_target_file_size_base(_FILE_BYTES)
    # Most bytes are at the bottom level, where size counts; above it, speed counts.
    options.set_compression_type(DBCompressionType.lz4())
    options.set_bottommost_compression_type(DBCompressionType.zstd())
    options.set_bottommost_compression_options(
        _ZSTD_WINDOW_BITS, _ZSTD_LEVEL, _ZSTD_STRATEGY, family.dictionary_bytes, True
    )
    options.set_bottommost_zstd_max_train_bytes(family.dictionary_bytes * _TRAINING_RATIO, True)
    return options


def compaction_options(*, deferred: bool) -> dict[str, str]:
    """The options of a family that change when its compactions are deferred, until many files were
    flushed."""
    files, level_bytes = _FLUSHED_FILES, _FIRST_LEVEL_BYTES
    if deferred:
        files, level_bytes = _FLUSHED_FILES_DEFERRED, _LEVEL_BYTES_DEFERRED
    return {
        "level0_file_num_compaction_trigger": str(files),
        "max_bytes_for_level_base": str(level_bytes),
    }


def write_options() -> WriteOptions:
    """Write options without a write-ahead log: the topic is the log, and atomic flushes make
    commits durable.

    Unless it waits for the disk at every commit, RocksDB's log would be worse than none. When an
    older log file loses its end (a power failure, unsynced) and a newer one doesn't, recovery
    replays the newer one over the hole: a position without its data. RocksDB can watch for that,
    but rocksdict doesn't offer the option (`track_and_verify_wals`). So a crash costs the commits
    since the last flush, all or none of each, and the topic gives them back.
    """
    options = WriteOptions()
    # A property, though rocksdict's stub declares a method.
    options.disable_wal = True  # type: ignore[method-assign, assignment]
    return options


def check_families(families: Sequence[Family]) -> None:
    kinds = b"".join(family.kinds for family in families)
    assert len(set(kinds)) == len(kinds), "a kind lives in two column families"
    names = [family.name for family in families]
    assert len(set(names)) == len(names), "two column families have one name"
