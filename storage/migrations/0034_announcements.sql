-- Announcements of the operator. They are shown from published_at until ends_at; a draft has no published_at.
CREATE TABLE announcements (
    id bigint PRIMARY KEY,
    text text NOT NULL,
    content text NOT NULL,
    mentions jsonb NOT NULL,
    statuses jsonb NOT NULL,
    tags text[] NOT NULL,
    starts_at timestamptz,
    ends_at timestamptz,
    all_day boolean NOT NULL,
    published_at timestamptz,
    updated_at timestamptz NOT NULL,
    version bigint NOT NULL DEFAULT 0 -- counts the changes of its reactions, which take turns by locking this row
);

CREATE TABLE announcement_reactions (
    announcement_id bigint NOT NULL REFERENCES announcements ON DELETE CASCADE,
    account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (announcement_id, name, account_id)
);
CREATE INDEX announcement_reactions_account ON announcement_reactions (account_id);

CREATE TABLE announcement_dismissals (
    account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    announcement_id bigint NOT NULL REFERENCES announcements ON DELETE CASCADE,
    PRIMARY KEY (account_id, announcement_id)
);
CREATE INDEX announcement_dismissals_announcement ON announcement_dismissals (announcement_id);
