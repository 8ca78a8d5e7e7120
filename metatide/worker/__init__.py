"""One worker: what it serves over HTTP and Thrift, and what it offers to operators."""
