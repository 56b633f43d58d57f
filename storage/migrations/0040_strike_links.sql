-- Links of mails, by which users who can't sign in appeal against what staff decided. A link is valid until it expires.

CREATE TABLE strike_links (
    token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    strike_id   bigint NOT NULL REFERENCES strikes ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE INDEX strike_links_strike ON strike_links (strike_id);
CREATE INDEX strike_links_expiry ON strike_links (expires_at);
