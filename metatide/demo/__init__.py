"""A workload that writes to the metastore's database as Hive does."""
