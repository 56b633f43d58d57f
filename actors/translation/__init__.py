"""Translations of statuses: the interface to a translation service, its backends, and the cache of translations."""
