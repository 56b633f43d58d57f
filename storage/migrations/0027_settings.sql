-- The pages on which people change their account: sessions with the browser's name, links that set a new password,
-- new addresses that are not confirmed yet, and two-factor authentication.

ALTER TABLE web_sessions ADD COLUMN agent text CHECK (length(agent) <= 256); -- the browser, as it names itself

-- The links of mails to people who forgot their password: good once, for one account and the address of that time.
CREATE TABLE password_resets (
    token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 320),
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE INDEX password_resets_account ON password_resets (account_id);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

-- The address that takes the place of `email` when a link that was sent to it is opened (table `confirmations`).
ALTER TABLE users ADD COLUMN new_email text CHECK (length(new_email) BETWEEN 3 AND 320);

-- The secret is stored in clear, because each code is computed from it. Without `enabled_at` it was only shown.
CREATE TABLE two_factor (
    account_id  bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    secret      text NOT NULL CHECK (length(secret) BETWEEN 16 AND 128),
    last_step   bigint NOT NULL DEFAULT 0, -- of the last code that was accepted: codes of it and before are refused
    enabled_at  timestamptz,
    created_at  timestamptz NOT NULL
);

CREATE TABLE recovery_codes (
    account_id  bigint NOT NULL REFERENCES two_factor ON DELETE CASCADE,
    code_hash   bytea NOT NULL CHECK (octet_length(code_hash) = 32),
    PRIMARY KEY (account_id, code_hash)
);

-- Browsers that have sent the right password and must still send a code.
CREATE TABLE sign_in_challenges (
    token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    tries       integer NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE INDEX sign_in_challenges_account ON sign_in_challenges (account_id);
CREATE INDEX sign_in_challenges_expiry ON sign_in_challenges (expires_at);
