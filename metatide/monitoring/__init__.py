"""Dashboards and alert rules, made from the metrics of connectors and workers."""
