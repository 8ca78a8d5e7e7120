"""Spark for commands: the session, the code for executors, and error messages."""
