"""Troupe: a self-hosted, federated microblogging server built of supervised actors."""

__version__ = "0.1.0"
