"""The bytes of Thrift's protocols and transports."""
