"""The fold on Spark: shards built, kept fresh and reported on by executors."""
