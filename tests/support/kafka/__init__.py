"""Brokers that tests start, and topics on them."""
