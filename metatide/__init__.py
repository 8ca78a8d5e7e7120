"""The command, its configuration, the embedded stack and the client."""
