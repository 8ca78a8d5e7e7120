"""Rows of NOTIFICATION_LOG as typed events, and the way back."""
