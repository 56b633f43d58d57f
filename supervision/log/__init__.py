"""The supervision log: its vocabulary, redaction, formats and outputs."""
