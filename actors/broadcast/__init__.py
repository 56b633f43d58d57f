"""The ways in which facts reach the actors that are awake, and the events that these show in streams."""
