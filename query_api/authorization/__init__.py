"""Who may be answered from the cache, and about what."""
