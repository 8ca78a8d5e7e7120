"""Loads read objects from the metastore's database and write them into the topic."""
