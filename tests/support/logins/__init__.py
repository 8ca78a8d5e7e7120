"""Authorities that let clients of tests in."""
