-- Accounts, local (domain null) and remote (domain set) alike. Every id in this schema is made by the server process:
-- milliseconds << 16 | sequence, so that it sorts by time.

CREATE TABLE accounts (
    id                  bigint PRIMARY KEY,
    username            text NOT NULL CHECK (length(username) BETWEEN 1 AND 2048),
    domain              text CHECK (length(domain) BETWEEN 1 AND 259 AND domain = lower(domain)),
    uri                 text NOT NULL CHECK (length(uri) BETWEEN 1 AND 2048),
    url                 text CHECK (length(url) <= 2048),
    protocol            text NOT NULL DEFAULT 'activitypub' CHECK (protocol IN ('activitypub', 'ostatus')),
    inbox_url           text CHECK (length(inbox_url) <= 2048),
    shared_inbox_url    text CHECK (length(shared_inbox_url) <= 2048),
    outbox_url          text CHECK (length(outbox_url) <= 2048),
    followers_url       text CHECK (length(followers_url) <= 2048),
    following_url       text CHECK (length(following_url) <= 2048),
    featured_url        text CHECK (length(featured_url) <= 2048),
    public_key          text CHECK (length(public_key) <= 16384),
    private_key         text CHECK (length(private_key) <= 16384),
    display_name        text NOT NULL DEFAULT '' CHECK (length(display_name) <= 2048),
    note_source         text NOT NULL DEFAULT '' CHECK (length(note_source) <= 20480),
    note                text NOT NULL DEFAULT '' CHECK (length(note) <= 131072),
    fields              jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(fields) = 'array' AND jsonb_array_length(fields) <= 50),
    avatar_file         text CHECK (length(avatar_file) <= 512),
    avatar_remote_url   text CHECK (length(avatar_remote_url) <= 2048),
    avatar_description  text NOT NULL DEFAULT '' CHECK (length(avatar_description) <= 10000),
    header_file         text CHECK (length(header_file) <= 512),
    header_remote_url   text CHECK (length(header_remote_url) <= 2048),
    header_description  text NOT NULL DEFAULT '' CHECK (length(header_description) <= 10000),
    locked              boolean NOT NULL DEFAULT false,
    bot                 boolean NOT NULL DEFAULT false,
    "group"             boolean NOT NULL DEFAULT false,
    discoverable        boolean NOT NULL DEFAULT false,
    indexable           boolean NOT NULL DEFAULT false,
    hide_collections    boolean NOT NULL DEFAULT false,
    memorial            boolean NOT NULL DEFAULT false,
    also_known_as       text[] NOT NULL DEFAULT '{}' CHECK (cardinality(also_known_as) <= 256),
    moved_to_id         bigint REFERENCES accounts ON DELETE SET NULL,
    silenced_at         timestamptz,
    sensitized_at       timestamptz,
    suspended_at        timestamptz,
    fetched_at          timestamptz,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    deleted_at          timestamptz,
    CONSTRAINT accounts_local_username CHECK (domain IS NOT NULL OR username ~ '^[A-Za-z0-9_]{1,30}$')
);

CREATE UNIQUE INDEX accounts_handle ON accounts (lower(username), lower(coalesce(domain, '')));
CREATE UNIQUE INDEX accounts_uri ON accounts (uri);
CREATE INDEX accounts_moved_to ON accounts (moved_to_id) WHERE moved_to_id IS NOT NULL;
CREATE INDEX accounts_local ON accounts (id DESC) WHERE domain IS NULL;
CREATE INDEX accounts_domain ON accounts (domain, id DESC) WHERE domain IS NOT NULL;

-- Narrow and without a secondary index, so that counting is a heap-only update inside one page.
CREATE TABLE account_counts (
    account_id      bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    statuses        bigint NOT NULL DEFAULT 0 CHECK (statuses >= 0),
    followers       bigint NOT NULL DEFAULT 0 CHECK (followers >= 0),
    following       bigint NOT NULL DEFAULT 0 CHECK (following >= 0),
    last_status_at  timestamptz
) WITH (fillfactor = 70);

-- URIs of remote things that were deleted, so that a late Create does not bring them back.
CREATE TABLE tombstones (
    uri         text PRIMARY KEY CHECK (length(uri) BETWEEN 1 AND 2048),
    by_uri      text CHECK (length(by_uri) <= 2048),
    created_at  timestamptz NOT NULL
);

CREATE INDEX tombstones_age ON tombstones (created_at);
