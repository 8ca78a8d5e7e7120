"""The `metatide` command, its configuration, the embedded stack and the Python client."""
