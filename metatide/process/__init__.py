"""What every process of Metatide sets up and can tell of itself."""
