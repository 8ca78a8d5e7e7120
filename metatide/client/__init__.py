"""The Python client; it imports nothing else of this project."""
