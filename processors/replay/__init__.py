"""Folding a stretch of the topic in bulk: to catch up, and to rebuild stores."""
