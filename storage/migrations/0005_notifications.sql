-- What an account is told, and how far it has read.

CREATE TABLE notifications (
    id               bigint PRIMARY KEY,
    account_id       bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    from_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    type             text NOT NULL CHECK (type IN (
        'mention', 'status', 'reblog', 'follow', 'follow_request', 'favourite', 'poll', 'update', 'quote', 'quoted_update',
        'admin.sign_up', 'admin.report', 'severed_relationships', 'moderation_warning', 'added_to_collection', 'collection_update'
    )),
    status_id        bigint REFERENCES statuses ON DELETE CASCADE,
    filtered         boolean NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL
);

CREATE INDEX notifications_page ON notifications (account_id, id DESC);
CREATE INDEX notifications_sender ON notifications (from_account_id, account_id);
CREATE INDEX notifications_status ON notifications (status_id) WHERE status_id IS NOT NULL;
-- The same person, status and type never tell twice; reports and warnings are different each time.
CREATE UNIQUE INDEX notifications_once ON notifications (account_id, from_account_id, type, status_id) NULLS NOT DISTINCT
    WHERE type NOT IN ('admin.report', 'severed_relationships', 'moderation_warning', 'added_to_collection', 'collection_update');

CREATE TABLE markers (
    account_id    bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    timeline      text NOT NULL CHECK (timeline IN ('home', 'notifications')),
    last_read_id  bigint NOT NULL,
    version       integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    updated_at    timestamptz NOT NULL,
    PRIMARY KEY (account_id, timeline)
) WITH (fillfactor = 70);

-- A thread of direct statuses as one account sees it: one row a thread and set of participants.
CREATE TABLE account_conversations (
    id               bigint PRIMARY KEY,
    account_id       bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    conversation_id  bigint NOT NULL,
    participant_ids  bigint[] NOT NULL CHECK (cardinality(participant_ids) BETWEEN 1 AND 300),
    last_status_id   bigint REFERENCES statuses ON DELETE SET NULL,
    unread           boolean NOT NULL DEFAULT false,
    UNIQUE (account_id, conversation_id, participant_ids)
);

CREATE INDEX account_conversations_page ON account_conversations (account_id, last_status_id DESC);
CREATE INDEX account_conversations_last ON account_conversations (last_status_id) WHERE last_status_id IS NOT NULL;
