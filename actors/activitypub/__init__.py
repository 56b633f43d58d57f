"""ActivityPub as documents: their shapes, the names of this server's things, and signatures; nothing is sent or stored here."""
