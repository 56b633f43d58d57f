-- What one account has to do with another.

CREATE TABLE follows (
    id                 bigint PRIMARY KEY,
    account_id         bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    show_reblogs       boolean NOT NULL DEFAULT true,
    notify             boolean NOT NULL DEFAULT false,
    languages          text[] CHECK (cardinality(languages) <= 200),
    uri                text UNIQUE CHECK (length(uri) <= 2048),
    created_at         timestamptz NOT NULL,
    UNIQUE (account_id, target_account_id),
    CHECK (account_id <> target_account_id)
);

CREATE INDEX follows_following ON follows (account_id, id DESC);
CREATE INDEX follows_followers ON follows (target_account_id, id DESC);

CREATE TABLE follow_requests (
    id                 bigint PRIMARY KEY,
    account_id         bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    show_reblogs       boolean NOT NULL DEFAULT true,
    notify             boolean NOT NULL DEFAULT false,
    languages          text[] CHECK (cardinality(languages) <= 200),
    uri                text UNIQUE CHECK (length(uri) <= 2048),
    created_at         timestamptz NOT NULL,
    UNIQUE (account_id, target_account_id),
    CHECK (account_id <> target_account_id)
);

CREATE INDEX follow_requests_outgoing ON follow_requests (account_id, id DESC);
CREATE INDEX follow_requests_incoming ON follow_requests (target_account_id, id DESC);

CREATE TABLE blocks (
    id                 bigint PRIMARY KEY,
    account_id         bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    uri                text UNIQUE CHECK (length(uri) <= 2048),
    created_at         timestamptz NOT NULL,
    UNIQUE (account_id, target_account_id),
    CHECK (account_id <> target_account_id)
);

CREATE INDEX blocks_page ON blocks (account_id, id DESC);
CREATE INDEX blocks_target ON blocks (target_account_id);

CREATE TABLE mutes (
    id                  bigint PRIMARY KEY,
    account_id          bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hide_notifications  boolean NOT NULL DEFAULT true,
    expires_at          timestamptz,
    created_at          timestamptz NOT NULL,
    UNIQUE (account_id, target_account_id),
    CHECK (account_id <> target_account_id)
);

CREATE INDEX mutes_page ON mutes (account_id, id DESC);
CREATE INDEX mutes_target ON mutes (target_account_id);
CREATE INDEX mutes_expiry ON mutes (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE account_domain_blocks (
    id          bigint PRIMARY KEY,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    domain      text NOT NULL CHECK (length(domain) BETWEEN 1 AND 259 AND domain = lower(domain)),
    created_at  timestamptz NOT NULL,
    UNIQUE (account_id, domain)
);

CREATE INDEX account_domain_blocks_page ON account_domain_blocks (account_id, id DESC);
CREATE INDEX account_domain_blocks_domain ON account_domain_blocks (domain);

CREATE TABLE account_notes (
    account_id         bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    comment            text NOT NULL CHECK (length(comment) BETWEEN 1 AND 2000),
    updated_at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, target_account_id)
);

CREATE INDEX account_notes_target ON account_notes (target_account_id);

CREATE TABLE lists (
    id              bigint PRIMARY KEY,
    account_id      bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    title           text NOT NULL CHECK (length(title) BETWEEN 1 AND 256),
    replies_policy  text NOT NULL DEFAULT 'list' CHECK (replies_policy IN ('list', 'followed', 'none')),
    exclusive       boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL
);

CREATE INDEX lists_owner ON lists (account_id, id);

CREATE TABLE list_accounts (
    id          bigint PRIMARY KEY,
    list_id     bigint NOT NULL REFERENCES lists ON DELETE CASCADE,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    UNIQUE (list_id, account_id)
);

CREATE INDEX list_accounts_page ON list_accounts (list_id, id DESC);
CREATE INDEX list_accounts_account ON list_accounts (account_id);

-- Orders the changes of one pair of accounts: drawn while the pair is locked, so a later change has a higher stamp.
CREATE SEQUENCE relation_stamp;
