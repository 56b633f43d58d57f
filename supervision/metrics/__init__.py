"""Metrics in the text that Prometheus reads, on an address of their own."""
