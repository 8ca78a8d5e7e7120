"""The embedded stack: what `metatide up` runs on one machine."""
