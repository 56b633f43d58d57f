-- Filters of statuses: each hides what has one of its keywords, or is one of its statuses.
CREATE TABLE filters (
    id          bigint PRIMARY KEY,
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    title       text NOT NULL CHECK (length(title) BETWEEN 1 AND 256),
    contexts    text[] NOT NULL
        CHECK (cardinality(contexts) > 0 AND contexts <@ '{home,notifications,public,thread,account}'),
    action      text NOT NULL CHECK (action IN ('warn', 'hide', 'blur')),
    expires_at  timestamptz,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);

CREATE INDEX filters_owner ON filters (account_id, id);

CREATE TABLE filter_keywords (
    id          bigint PRIMARY KEY,
    filter_id   bigint NOT NULL REFERENCES filters ON DELETE CASCADE,
    keyword     text NOT NULL CHECK (length(keyword) BETWEEN 1 AND 512),
    whole_word  boolean NOT NULL DEFAULT true,
    created_at  timestamptz NOT NULL
);

CREATE INDEX filter_keywords_filter ON filter_keywords (filter_id, id);

CREATE TABLE filter_statuses (
    id          bigint PRIMARY KEY,
    filter_id   bigint NOT NULL REFERENCES filters ON DELETE CASCADE,
    status_id   bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    UNIQUE (filter_id, status_id)
);

-- A deletion of a status finds the filters that name it.
CREATE INDEX filter_statuses_status ON filter_statuses (status_id);
