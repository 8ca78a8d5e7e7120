"""The embedded stack: what `metatide up` runs on one machine, and how it is kept running."""
