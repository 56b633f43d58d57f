-- Hashtags that an account shows on its profile, each with how often and when it last used it.

-- `statuses` and `last_status_at` are of its public and unlisted statuses under the tag; they change with those rows.
CREATE TABLE featured_tags (
    id              bigint PRIMARY KEY,
    account_id      bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    tag_id          bigint NOT NULL REFERENCES tags ON DELETE CASCADE,
    display_name    text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 255),
    statuses        bigint NOT NULL DEFAULT 0 CHECK (statuses >= 0),
    last_status_at  timestamptz,
    created_at      timestamptz NOT NULL,
    UNIQUE (account_id, tag_id)
);

CREATE INDEX featured_tags_tag ON featured_tags (tag_id);
