"""The supervision log: its words, what it must not have, its forms, and where it is written."""
