-- What the server needs to know about other servers, and to talk to them.

-- Public keys of other servers' actors, by the id under which signatures name them.
CREATE TABLE actor_keys (
    key_id      text PRIMARY KEY CHECK (length(key_id) BETWEEN 1 AND 2048),
    actor_uri   text NOT NULL CHECK (length(actor_uri) BETWEEN 1 AND 2048),
    public_key  text NOT NULL CHECK (length(public_key) <= 16384),
    fetched_at  timestamptz NOT NULL
);

CREATE INDEX actor_keys_actor ON actor_keys (actor_uri);
CREATE INDEX actor_keys_age ON actor_keys (fetched_at);

-- The key of the server's own actor, which signs requests that no account makes.
CREATE TABLE server_key (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    private_key  text NOT NULL CHECK (length(private_key) <= 16384),
    public_key   text NOT NULL CHECK (length(public_key) <= 16384)
);

-- Activities on their way to other servers, as the bytes that are signed: they don't change between tries. A row is
-- deleted with the last of its deliveries. Without an account it is the server's own actor that sends it.
CREATE TABLE activities (
    id          bigint PRIMARY KEY,
    account_id  bigint REFERENCES accounts ON DELETE CASCADE,
    body        text NOT NULL CHECK (length(body) <= 1048576),
    created_at  timestamptz NOT NULL
);

CREATE INDEX activities_account ON activities (account_id) WHERE account_id IS NOT NULL;

-- Activities that were received, by the SHA-256 of their actor, id and body, so that exact repeats are dropped.
CREATE TABLE received_activities (
    digest       bytea PRIMARY KEY CHECK (length(digest) = 32),
    received_at  timestamptz NOT NULL
);

CREATE INDEX received_activities_age ON received_activities (received_at);

-- A URI of a deleted thing stays for good, the id of an activity that was undone for some hours.
ALTER TABLE tombstones ADD COLUMN expires_at timestamptz;
CREATE INDEX tombstones_expiry ON tombstones (expires_at) WHERE expires_at IS NOT NULL;

-- What is known of other servers, by host. Rows of those without accounts here expire.
CREATE TABLE hosts (
    host              text PRIMARY KEY CHECK (length(host) BETWEEN 1 AND 259 AND host = lower(host)),
    software          text CHECK (length(software) <= 128),
    signature_scheme  text CHECK (signature_scheme IN ('cavage', 'rfc9421')),
    failures          integer NOT NULL DEFAULT 0 CHECK (failures >= 0), -- deliveries in a row
    failing_since     timestamptz,
    closed_until      timestamptz, -- nothing is sent there before
    error             text CHECK (length(error) <= 2000),
    delivered_at      timestamptz,
    heard_at          timestamptz, -- the last signed request from there
    created_at        timestamptz NOT NULL
);

CREATE INDEX hosts_age ON hosts (created_at);

-- The domain of a follower on another server, so that finding the servers of an author's followers reads no local ones.
ALTER TABLE follows ADD COLUMN from_domain text CHECK (length(from_domain) BETWEEN 1 AND 259);
UPDATE follows SET from_domain = accounts.domain FROM accounts
WHERE accounts.id = follows.account_id AND accounts.domain IS NOT NULL;
CREATE INDEX follows_remote_followers ON follows (target_account_id, from_domain) WHERE from_domain IS NOT NULL;

-- The URI of a parent that is not known here: the status is a reply nevertheless.
ALTER TABLE statuses ADD COLUMN in_reply_to_uri text CHECK (length(in_reply_to_uri) <= 2048);
CREATE INDEX statuses_unknown_parent ON statuses (in_reply_to_uri) WHERE in_reply_to_uri IS NOT NULL;
