"""Connections of clients: states, flow control and limits."""
