"""What Hive is: write-id lists, events, Thrift bytes, schema, reader, filters."""
