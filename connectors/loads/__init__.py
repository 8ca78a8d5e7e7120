"""Loads: what no event tells whole is read from the metastore's database, into the topic."""
