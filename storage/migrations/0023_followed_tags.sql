-- Hashtags that an account follows: its home timeline shows the public statuses with them.
CREATE TABLE followed_tags (
    id          bigint PRIMARY KEY,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    tag_id      bigint NOT NULL REFERENCES tags ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    UNIQUE (account_id, tag_id)
);

CREATE INDEX followed_tags_page ON followed_tags (account_id, id DESC);
CREATE INDEX followed_tags_tag ON followed_tags (tag_id);
