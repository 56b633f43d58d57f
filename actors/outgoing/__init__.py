"""Requests that leave the server: one client, which connects to public addresses only, with a limit on everything."""
