"""Web Push: the messages to devices, their encryption, and their delivery to push services."""
