"""From the topic to the store: one pure fold and its drivers."""
