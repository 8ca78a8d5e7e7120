"""The metastore's notification log, as connectors read it."""
