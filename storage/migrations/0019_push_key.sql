-- The private key with which this server signs its requests to push services, in PEM (PKCS #8). Subscriptions are bound
-- to it: a server that starts with another key can't reach them. Whichever node starts first stores it.
CREATE TABLE push_key (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    private_key  text NOT NULL CHECK (length(private_key) BETWEEN 1 AND 4096)
);
