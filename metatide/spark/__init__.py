"""Spark as the command line runs it: the session, what is sent to executors, and its faults."""
