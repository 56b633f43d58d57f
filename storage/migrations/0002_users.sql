-- Who may sign in, and what signs in for them. Secrets are kept as their SHA-256 alone.

CREATE TABLE applications (
    id             bigint PRIMARY KEY,
    client_id      text NOT NULL UNIQUE CHECK (length(client_id) BETWEEN 1 AND 128),
    secret_hash    bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    name           text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
    website        text CHECK (length(website) <= 2000),
    redirect_uris  text[] NOT NULL CHECK (cardinality(redirect_uris) BETWEEN 1 AND 64),
    scopes         text[] NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 128),
    created_at     timestamptz NOT NULL
);

CREATE TABLE users (
    account_id                 bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    email                      text NOT NULL CHECK (length(email) BETWEEN 3 AND 320),
    password_hash              text CHECK (length(password_hash) <= 512),
    role                       text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'moderator', 'admin', 'owner')),
    locale                     text CHECK (length(locale) <= 35),
    default_privacy            text NOT NULL DEFAULT 'public' CHECK (default_privacy IN ('public', 'unlisted', 'private', 'direct')),
    default_sensitive          boolean NOT NULL DEFAULT false,
    default_language           text CHECK (length(default_language) <= 35),
    default_quote_policy       text NOT NULL DEFAULT 'public' CHECK (default_quote_policy IN ('public', 'followers', 'nobody')),
    settings                   jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object'),
    created_by_application_id  bigint REFERENCES applications ON DELETE SET NULL,
    invite_request             text CHECK (length(invite_request) <= 2048),
    sign_up_ip                 inet,
    confirmed_at               timestamptz,
    approved_at                timestamptz,
    disabled_at                timestamptz,
    created_at                 timestamptz NOT NULL
);

CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_application ON users (created_by_application_id) WHERE created_by_application_id IS NOT NULL;
CREATE INDEX users_pending ON users (account_id DESC) WHERE approved_at IS NULL;
CREATE INDEX users_staff ON users (account_id DESC) WHERE role <> 'user';

CREATE TABLE oauth_grants (
    code_hash       bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
    application_id  bigint NOT NULL REFERENCES applications ON DELETE CASCADE,
    account_id      bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    redirect_uri    text NOT NULL CHECK (length(redirect_uri) BETWEEN 1 AND 2000),
    scopes          text[] NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 128),
    code_challenge  text CHECK (length(code_challenge) BETWEEN 43 AND 128),
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    used_at         timestamptz
);

CREATE INDEX oauth_grants_application ON oauth_grants (application_id);
CREATE INDEX oauth_grants_account ON oauth_grants (account_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

CREATE TABLE access_tokens (
    id              bigint PRIMARY KEY,
    token_hash      bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    application_id  bigint NOT NULL REFERENCES applications ON DELETE CASCADE,
    account_id      bigint REFERENCES accounts ON DELETE CASCADE,
    scopes          text[] NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 128),
    created_at      timestamptz NOT NULL,
    last_used_at    timestamptz,
    revoked_at      timestamptz
);

CREATE INDEX access_tokens_application ON access_tokens (application_id, id DESC);
CREATE INDEX access_tokens_account ON access_tokens (account_id, id DESC) WHERE account_id IS NOT NULL;

CREATE TABLE web_sessions (
    token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE INDEX web_sessions_account ON web_sessions (account_id);
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);
