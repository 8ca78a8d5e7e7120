"""The topic's records and events for people and for other programs."""
