-- Keep the words of statuses as Troupe cuts them, so that searches depend on no locale.

DROP INDEX statuses_words;

CREATE TABLE status_words (
    status_id  bigint PRIMARY KEY REFERENCES statuses ON DELETE CASCADE,
    words      tsvector NOT NULL
);

-- A search reads the list of what is not yet in the tree from its beginning to its end: 256 kB take half a millisecond.
CREATE INDEX status_words_words ON status_words USING gin (words) WITH (gin_pending_list_limit = 256);

-- The local boosts of an account, by what they boost.
CREATE INDEX statuses_boosted ON statuses (account_id, reblog_of_id DESC)
    WHERE local AND reblog_of_id IS NOT NULL AND deleted_at IS NULL;

-- The statuses below this id were stored by an earlier version and have no words yet. No row: all have.
CREATE TABLE words_to_come (
    below_id  bigint NOT NULL
);
INSERT INTO words_to_come SELECT id + 1 FROM statuses ORDER BY id DESC LIMIT 1;
