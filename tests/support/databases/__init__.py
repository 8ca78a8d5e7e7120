"""Databases that tests start."""
