"""Traces of requests by OpenTelemetry, if the environment asks for them."""
