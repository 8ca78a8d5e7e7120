"""Loads on Spark: executors read the metastore's database and write the topic."""
