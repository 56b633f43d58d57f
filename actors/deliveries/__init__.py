"""Delivers activities to other servers: sends the requests, and keeps the states of the servers."""
