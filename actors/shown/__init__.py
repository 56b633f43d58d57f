"""Things as they are shown: a record with all that its JSON needs, and who may see it."""
