"""ActivityPub as documents: their shapes, the names of local things, and signatures. Nothing is sent or stored here."""
