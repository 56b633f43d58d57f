"""What an account can be told to do, a file a noun. Importing this registers every command's turn."""

from . import relations, statuses

__all__ = ["relations", "statuses"]
