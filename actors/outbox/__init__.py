"""The outbox: promises as rows, and the relays that execute them."""
