"""The pure fold: topic records over an ordered key-value view."""
