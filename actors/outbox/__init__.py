"""The outbox: promises as rows, and the relays that carry them out."""
