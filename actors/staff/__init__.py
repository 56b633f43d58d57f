"""Acts of staff: what they share, and those that no actor is asked for."""
