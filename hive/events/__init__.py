"""Typed events from rows of NOTIFICATION_LOG, and rows from events."""
