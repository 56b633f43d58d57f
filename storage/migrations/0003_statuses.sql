-- Statuses and what hangs on them.

CREATE TABLE polls (
    id            bigint PRIMARY KEY,
    account_id    bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    multiple      boolean NOT NULL DEFAULT false,
    hide_totals   boolean NOT NULL DEFAULT false,
    voters_count  bigint NOT NULL DEFAULT 0 CHECK (voters_count >= 0),
    expires_at    timestamptz,
    closed_at     timestamptz,
    fetched_at    timestamptz,
    created_at    timestamptz NOT NULL
);

CREATE INDEX polls_account ON polls (account_id);
CREATE INDEX polls_closing ON polls (expires_at) WHERE closed_at IS NULL;

CREATE TABLE poll_options (
    poll_id   bigint NOT NULL REFERENCES polls ON DELETE CASCADE,
    position  smallint NOT NULL CHECK (position BETWEEN 0 AND 499),
    title     text NOT NULL CHECK (length(title) BETWEEN 1 AND 2048),
    votes     bigint NOT NULL DEFAULT 0 CHECK (votes >= 0),
    PRIMARY KEY (poll_id, position)
) WITH (fillfactor = 70);

CREATE TABLE poll_votes (
    id          bigint PRIMARY KEY,
    poll_id     bigint NOT NULL,
    position    smallint NOT NULL,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    uri         text CHECK (length(uri) <= 2048),
    created_at  timestamptz NOT NULL,
    UNIQUE (poll_id, account_id, position),
    FOREIGN KEY (poll_id, position) REFERENCES poll_options ON DELETE CASCADE
);

CREATE INDEX poll_votes_option ON poll_votes (poll_id, position);
CREATE INDEX poll_votes_account ON poll_votes (account_id);

CREATE TABLE statuses (
    id                      bigint PRIMARY KEY,
    account_id              bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    uri                     text NOT NULL CHECK (length(uri) BETWEEN 1 AND 2048),
    url                     text CHECK (length(url) <= 2048),
    local                   boolean NOT NULL,
    text                    text NOT NULL DEFAULT '' CHECK (length(text) <= 131072),
    content                 text NOT NULL DEFAULT '' CHECK (length(content) <= 1048576),
    content_type            text NOT NULL DEFAULT 'text/plain' CHECK (content_type IN ('text/plain', 'text/markdown', 'text/html')),
    spoiler_text            text NOT NULL DEFAULT '' CHECK (length(spoiler_text) <= 16384),
    visibility              text NOT NULL CHECK (visibility IN ('public', 'unlisted', 'private', 'direct')),
    sensitive               boolean NOT NULL DEFAULT false,
    language                text CHECK (length(language) <= 35),
    in_reply_to_id          bigint REFERENCES statuses ON DELETE SET NULL,
    in_reply_to_account_id  bigint REFERENCES accounts ON DELETE SET NULL,
    -- The id of the status that began the thread. A name, not a reference: a thread outlives its first status.
    conversation_id         bigint NOT NULL,
    reblog_of_id            bigint REFERENCES statuses ON DELETE CASCADE,
    quote_of_id             bigint REFERENCES statuses ON DELETE SET NULL,
    quote_state             text CHECK (quote_state IN ('pending', 'accepted', 'rejected', 'revoked', 'deleted', 'unauthorized')),
    quote_policy            text NOT NULL DEFAULT 'nobody' CHECK (quote_policy IN ('public', 'followers', 'nobody')),
    quote_approval_uri      text CHECK (length(quote_approval_uri) <= 2048),
    poll_id                 bigint REFERENCES polls ON DELETE SET NULL,
    application_id          bigint REFERENCES applications ON DELETE SET NULL,
    mentioned_ids           bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(mentioned_ids) <= 1000),
    media_ids               bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(media_ids) <= 32),
    created_at              timestamptz NOT NULL,
    edited_at               timestamptz,
    deleted_at              timestamptz,
    CONSTRAINT statuses_reblog_is_bare CHECK (reblog_of_id IS NULL OR (in_reply_to_id IS NULL AND poll_id IS NULL AND quote_of_id IS NULL))
);

CREATE UNIQUE INDEX statuses_uri ON statuses (uri);
CREATE INDEX statuses_author ON statuses (account_id, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX statuses_author_all ON statuses (account_id);
CREATE INDEX statuses_author_media ON statuses (account_id, id DESC)
    WHERE deleted_at IS NULL AND reblog_of_id IS NULL AND media_ids <> '{}';
-- The public timelines hold no boosts and no replies to others.
CREATE INDEX statuses_public ON statuses (id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL AND reblog_of_id IS NULL
    AND (in_reply_to_id IS NULL OR in_reply_to_account_id = account_id);
CREATE INDEX statuses_public_local ON statuses (local, id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL AND reblog_of_id IS NULL
    AND (in_reply_to_id IS NULL OR in_reply_to_account_id = account_id);
CREATE INDEX statuses_public_media ON statuses (id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL AND reblog_of_id IS NULL
    AND (in_reply_to_id IS NULL OR in_reply_to_account_id = account_id) AND media_ids <> '{}';
CREATE INDEX statuses_replies ON statuses (in_reply_to_id, id) WHERE in_reply_to_id IS NOT NULL;
CREATE INDEX statuses_replied_account ON statuses (in_reply_to_account_id) WHERE in_reply_to_account_id IS NOT NULL;
CREATE INDEX statuses_conversation ON statuses (conversation_id, id DESC);
-- One boost of a status by an account, however often it is asked for.
CREATE UNIQUE INDEX statuses_one_reblog ON statuses (reblog_of_id, account_id) WHERE reblog_of_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX statuses_reblogs ON statuses (reblog_of_id, id DESC) WHERE reblog_of_id IS NOT NULL;
CREATE INDEX statuses_quotes ON statuses (quote_of_id, id DESC) WHERE quote_of_id IS NOT NULL;
CREATE UNIQUE INDEX statuses_poll ON statuses (poll_id) WHERE poll_id IS NOT NULL;
CREATE INDEX statuses_application ON statuses (application_id) WHERE application_id IS NOT NULL;
CREATE INDEX statuses_deleted ON statuses (deleted_at) WHERE deleted_at IS NOT NULL;

-- Kept equal to the rows they count: `replies` counts public and unlisted ones alone.
CREATE TABLE status_counts (
    status_id   bigint PRIMARY KEY REFERENCES statuses ON DELETE CASCADE,
    replies     bigint NOT NULL DEFAULT 0 CHECK (replies >= 0),
    reblogs     bigint NOT NULL DEFAULT 0 CHECK (reblogs >= 0),
    favourites  bigint NOT NULL DEFAULT 0 CHECK (favourites >= 0),
    quotes      bigint NOT NULL DEFAULT 0 CHECK (quotes >= 0)
) WITH (fillfactor = 70);

CREATE TABLE status_edits (
    id            bigint PRIMARY KEY,
    status_id     bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    text          text NOT NULL CHECK (length(text) <= 131072),
    content       text NOT NULL CHECK (length(content) <= 1048576),
    content_type  text NOT NULL CHECK (content_type IN ('text/plain', 'text/markdown', 'text/html')),
    spoiler_text  text NOT NULL CHECK (length(spoiler_text) <= 16384),
    sensitive     boolean NOT NULL,
    media         jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(media) = 'array'),
    poll_options  text[] CHECK (cardinality(poll_options) <= 500),
    created_at    timestamptz NOT NULL
);

CREATE INDEX status_edits_status ON status_edits (status_id, id);

CREATE TABLE mentions (
    status_id   bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    silent      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (status_id, account_id)
);

CREATE INDEX mentions_account ON mentions (account_id, status_id DESC);

CREATE TABLE tags (
    id            bigint PRIMARY KEY,
    name          text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
    display_name  text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 255),
    usable        boolean NOT NULL DEFAULT true,
    listable      boolean NOT NULL DEFAULT true,
    trendable     boolean,
    reviewed_at   timestamptz,
    created_at    timestamptz NOT NULL
);

CREATE TABLE status_tags (
    tag_id     bigint NOT NULL REFERENCES tags ON DELETE CASCADE,
    status_id  bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    PRIMARY KEY (tag_id, status_id)
);

CREATE INDEX status_tags_status ON status_tags (status_id, tag_id);

CREATE TABLE media_attachments (
    id                bigint PRIMARY KEY,
    account_id        bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    status_id         bigint REFERENCES statuses ON DELETE SET NULL,
    type              text NOT NULL CHECK (type IN ('image', 'gifv', 'video', 'audio', 'unknown')),
    state             text NOT NULL DEFAULT 'ready' CHECK (state IN ('waiting', 'working', 'ready', 'failed')),
    file              text CHECK (length(file) <= 512),
    file_type         text CHECK (length(file_type) <= 128),
    file_size         bigint CHECK (file_size >= 0),
    thumbnail_file    text CHECK (length(thumbnail_file) <= 512),
    remote_url        text CHECK (length(remote_url) <= 2048),
    thumbnail_remote_url text CHECK (length(thumbnail_remote_url) <= 2048),
    description       text NOT NULL DEFAULT '' CHECK (length(description) <= 10000),
    blurhash          text CHECK (length(blurhash) <= 128),
    meta              jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(meta) = 'object'),
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL
);

CREATE INDEX media_attachments_status ON media_attachments (status_id) WHERE status_id IS NOT NULL;
CREATE INDEX media_attachments_account ON media_attachments (account_id, id DESC);
CREATE INDEX media_attachments_loose ON media_attachments (updated_at) WHERE status_id IS NULL;

CREATE TABLE favourites (
    id          bigint PRIMARY KEY,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    status_id   bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    uri         text UNIQUE CHECK (length(uri) <= 2048),
    created_at  timestamptz NOT NULL,
    UNIQUE (account_id, status_id)
);

CREATE INDEX favourites_account ON favourites (account_id, id DESC);
CREATE INDEX favourites_status ON favourites (status_id, id DESC);

CREATE TABLE bookmarks (
    id          bigint PRIMARY KEY,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    status_id   bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    UNIQUE (account_id, status_id)
);

CREATE INDEX bookmarks_account ON bookmarks (account_id, id DESC);
CREATE INDEX bookmarks_status ON bookmarks (status_id);

CREATE TABLE pins (
    id          bigint PRIMARY KEY,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    status_id   bigint NOT NULL UNIQUE REFERENCES statuses ON DELETE CASCADE,
    created_at  timestamptz NOT NULL
);

CREATE INDEX pins_account ON pins (account_id, id DESC);

CREATE TABLE conversation_mutes (
    account_id       bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    conversation_id  bigint NOT NULL,
    created_at       timestamptz NOT NULL,
    PRIMARY KEY (account_id, conversation_id)
);
