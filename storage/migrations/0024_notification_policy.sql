-- Which notifications an account accepts, filters or drops, and the requests that filtered ones make.

-- In the row of the user, because the statement that stores a notification locks it: see storage/notification_policy.py.
ALTER TABLE users
    ADD COLUMN policy_not_following text NOT NULL DEFAULT 'accept' CHECK (policy_not_following IN ('accept', 'filter', 'drop')),
    ADD COLUMN policy_not_followers text NOT NULL DEFAULT 'accept' CHECK (policy_not_followers IN ('accept', 'filter', 'drop')),
    ADD COLUMN policy_new_accounts text NOT NULL DEFAULT 'accept' CHECK (policy_new_accounts IN ('accept', 'filter', 'drop')),
    ADD COLUMN policy_private_mentions text NOT NULL DEFAULT 'accept' CHECK (policy_private_mentions IN ('accept', 'filter', 'drop')),
    ADD COLUMN policy_limited_accounts text NOT NULL DEFAULT 'filter' CHECK (policy_limited_accounts IN ('accept', 'filter', 'drop')),
    ADD COLUMN policy_bots text NOT NULL DEFAULT 'accept' CHECK (policy_bots IN ('accept', 'filter', 'drop')),
    ADD COLUMN accepted_sender_ids bigint[] NOT NULL DEFAULT '{}';

-- A sender whose mentions or quotes were filtered. The filtered notifications tell how many there are, and the last one.
CREATE TABLE notification_requests (
    id               bigint PRIMARY KEY,
    account_id       bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    from_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    UNIQUE (account_id, from_account_id)
) WITH (fillfactor = 80);

CREATE INDEX notification_requests_page ON notification_requests (account_id, id DESC);
CREATE INDEX notification_requests_sender ON notification_requests (from_account_id);
CREATE INDEX notifications_filtered ON notifications (account_id, from_account_id, id DESC) WHERE filtered;
