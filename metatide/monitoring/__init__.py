"""Dashboards and alert rules, made of the metrics that connectors and workers export."""
