"""Decides whether the cache may answer, and answers reads."""
