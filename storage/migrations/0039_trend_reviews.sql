-- Decisions of staff on links and statuses that may trend; those on hashtags are columns of `tags`.
CREATE TABLE publisher_reviews (
    domain       text PRIMARY KEY CHECK (length(domain) BETWEEN 1 AND 255),
    trendable    boolean NOT NULL,
    reviewed_at  timestamptz NOT NULL
);

CREATE TABLE link_reviews (
    card_id      bigint PRIMARY KEY REFERENCES preview_cards ON DELETE CASCADE,
    trendable    boolean NOT NULL,
    reviewed_at  timestamptz NOT NULL
);

CREATE TABLE author_reviews (
    account_id   bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    trendable    boolean NOT NULL,
    reviewed_at  timestamptz NOT NULL
);

CREATE TABLE status_reviews (
    status_id    bigint PRIMARY KEY REFERENCES statuses ON DELETE CASCADE,
    trendable    boolean NOT NULL,
    reviewed_at  timestamptz NOT NULL
);
