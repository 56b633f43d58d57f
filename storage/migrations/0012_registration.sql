-- Links in mails that confirm an address: good for one account and the address it had when the mail was written.

CREATE TABLE confirmations (
    token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 320),
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE INDEX confirmations_account ON confirmations (account_id);
CREATE INDEX confirmations_expiry ON confirmations (expires_at);
