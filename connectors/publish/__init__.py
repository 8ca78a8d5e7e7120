"""The way of events from the log into the topic."""
