"""The ways in which facts reach awake actors, and the events that these actors show in streams."""
