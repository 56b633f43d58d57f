"""Web Push: what a device is told, its encryption, and how it gets to the push service."""
