"""Acts of staff: their base, and the acts that need no actor."""
