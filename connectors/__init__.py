"""From the metastore's log to the topic: sources, publisher, loads."""
