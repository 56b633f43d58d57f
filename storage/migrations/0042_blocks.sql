-- What staff block on the whole server, and invites.

CREATE TABLE blocked_domains (
    id               bigint PRIMARY KEY,
    domain           text NOT NULL UNIQUE CHECK (length(domain) BETWEEN 1 AND 259),
    severity         text NOT NULL CHECK (severity IN ('noop', 'silence', 'suspend')),
    reject_media     boolean NOT NULL,
    reject_reports   boolean NOT NULL,
    private_comment  text CHECK (length(private_comment) <= 2000),
    public_comment   text CHECK (length(public_comment) <= 2000),
    obfuscate        boolean NOT NULL,
    created_at       timestamptz NOT NULL
);

CREATE TABLE allowed_domains (
    id          bigint PRIMARY KEY,
    domain      text NOT NULL UNIQUE CHECK (length(domain) BETWEEN 1 AND 259),
    created_at  timestamptz NOT NULL
);

CREATE TABLE blocked_email_domains (
    id                   bigint PRIMARY KEY,
    domain               text NOT NULL UNIQUE CHECK (length(domain) BETWEEN 1 AND 259),
    allow_with_approval  boolean NOT NULL,
    created_at           timestamptz NOT NULL
);

-- Sign-ups that such a block has met: how many on a day, from which networks.
CREATE TABLE email_domain_attempts (
    block_id  bigint NOT NULL REFERENCES blocked_email_domains ON DELETE CASCADE,
    day       date NOT NULL,
    network   text NOT NULL CHECK (length(network) BETWEEN 1 AND 64),
    uses      integer NOT NULL DEFAULT 1,
    PRIMARY KEY (block_id, day, network)
);

CREATE INDEX email_domain_attempts_day ON email_domain_attempts (day);

CREATE TABLE blocked_networks (
    id          bigint PRIMARY KEY,
    network     cidr NOT NULL UNIQUE,
    severity    text NOT NULL CHECK (severity IN ('sign_up_requires_approval', 'sign_up_block', 'no_access')),
    comment     text NOT NULL DEFAULT '' CHECK (length(comment) <= 2000),
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz
);

CREATE INDEX blocked_networks_expiry ON blocked_networks (expires_at) WHERE expires_at IS NOT NULL;

-- Addresses that may not sign up, as hashes of their canonical form.
CREATE TABLE blocked_emails (
    id             bigint PRIMARY KEY,
    email_hash     bytea NOT NULL UNIQUE CHECK (octet_length(email_hash) = 32),
    created_at     timestamptz NOT NULL
);

CREATE TABLE invites (
    id          bigint PRIMARY KEY,
    code        text NOT NULL UNIQUE CHECK (length(code) BETWEEN 8 AND 64),
    account_id  bigint REFERENCES accounts ON DELETE SET NULL,  -- null: made at the command line
    comment     text NOT NULL DEFAULT '' CHECK (length(comment) <= 420),
    max_uses    integer CHECK (max_uses BETWEEN 1 AND 100000),
    uses        integer NOT NULL DEFAULT 0 CHECK (max_uses IS NULL OR uses <= max_uses),
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz
);

CREATE INDEX invites_account ON invites (account_id, id DESC) WHERE account_id IS NOT NULL;

ALTER TABLE users ADD COLUMN invite_id bigint REFERENCES invites ON DELETE SET NULL;

CREATE INDEX users_invite ON users (invite_id) WHERE invite_id IS NOT NULL;

-- The canonical form of addresses: in lower case, without a tag, and without dots before the `@`.
CREATE INDEX users_canonical_email ON users ((
    replace(split_part(split_part(lower(email), '@', 1), '+', 1), '.', '') || '@' || split_part(lower(email), '@', 2)
));

-- Settings that were changed while the server runs. They come before those of files and the environment.
CREATE TABLE changed_settings (
    name        text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64),
    value       text NOT NULL CHECK (length(value) <= 2000),
    changed_at  timestamptz NOT NULL
);
