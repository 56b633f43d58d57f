"""Translations of statuses: the port to a translation service, its backends, and the cache of what they answered."""
