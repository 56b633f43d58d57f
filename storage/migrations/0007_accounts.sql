-- What profiles and relations need beyond the first day: the newer profile's switches, endorsements, finding by words.

ALTER TABLE accounts
    ADD COLUMN show_media           boolean NOT NULL DEFAULT true,
    ADD COLUMN show_media_replies   boolean NOT NULL DEFAULT true,
    ADD COLUMN show_featured        boolean NOT NULL DEFAULT true,
    ADD COLUMN attribution_domains  text[] NOT NULL DEFAULT '{}' CHECK (cardinality(attribution_domains) <= 100);

-- Accounts that an account recommends on its profile. It follows them: a follow that ends takes this along.
CREATE TABLE endorsements (
    id                 bigint PRIMARY KEY,
    account_id         bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    created_at         timestamptz NOT NULL,
    UNIQUE (account_id, target_account_id),
    CHECK (account_id <> target_account_id)
);

CREATE INDEX endorsements_page ON endorsements (account_id, id DESC);
CREATE INDEX endorsements_target ON endorsements (target_account_id);

-- Beginnings of names, and words of names.
CREATE INDEX accounts_name ON accounts (lower(username) text_pattern_ops);
CREATE INDEX accounts_words ON accounts USING gin (to_tsvector('simple', username || ' ' || display_name));
CREATE INDEX tags_name ON tags (name text_pattern_ops);
-- The parser of `to_tsvector` leaves HTML's tags out. Boosts have no words of their own.
CREATE INDEX statuses_words ON statuses USING gin (to_tsvector('simple', spoiler_text || ' ' || content))
    WHERE deleted_at IS NULL AND reblog_of_id IS NULL;

-- The few that lists of accounts leave out.
CREATE INDEX accounts_suspended ON accounts (id) WHERE suspended_at IS NOT NULL;
