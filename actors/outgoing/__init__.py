"""Requests that leave the server. A single client sends them: it connects only to public addresses, within limits."""
