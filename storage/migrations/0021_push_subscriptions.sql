-- Where a device gets notifications by Web Push: one subscription for each access token.

-- Some apps keep the id in 32 bits with a sign.
CREATE SEQUENCE push_subscription_ids AS integer;

CREATE TABLE push_subscriptions (
    id            integer PRIMARY KEY DEFAULT nextval('push_subscription_ids'),
    token_id      bigint NOT NULL UNIQUE REFERENCES access_tokens ON DELETE CASCADE,
    account_id    bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    -- In clear, unlike every other secret here: each message tells the device which of its accounts it is for by it.
    access_token  text NOT NULL CHECK (length(access_token) BETWEEN 1 AND 512),
    endpoint      text NOT NULL CHECK (length(endpoint) BETWEEN 1 AND 2048),
    service       text NOT NULL CHECK (length(service) BETWEEN 1 AND 255), -- the endpoint's host
    p256dh        bytea NOT NULL CHECK (octet_length(p256dh) = 65),
    auth          bytea NOT NULL CHECK (octet_length(auth) = 16),
    standard      boolean NOT NULL, -- RFC 8291; else the draft before it
    alerts        text[] NOT NULL CHECK (cardinality(alerts) <= 16), -- types of notifications
    policy        text NOT NULL CHECK (policy IN ('all', 'followed', 'follower', 'none')),
    created_at    timestamptz NOT NULL
);

ALTER SEQUENCE push_subscription_ids OWNED BY push_subscriptions.id;

CREATE INDEX push_subscriptions_account ON push_subscriptions (account_id, id DESC);
