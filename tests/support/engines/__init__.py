"""Query engines that tests start."""
