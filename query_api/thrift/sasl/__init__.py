"""How clients of the Thrift server prove who they are, by SASL as Hive speaks it."""
