-- Files of follows, blocks and the like that users have uploaded: a row for each line, which is carried out later.

CREATE TABLE imports (
    id           bigint PRIMARY KEY,
    account_id   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    kind         text NOT NULL
        CHECK (kind IN ('following', 'blocks', 'mutes', 'lists', 'bookmarks', 'domain_blocks')),
    overwrite    boolean NOT NULL,
    created_at   timestamptz NOT NULL,
    cleared_at   timestamptz, -- of one that overwrites: from then on nothing is removed any more
    finished_at  timestamptz
);

CREATE INDEX imports_account ON imports (account_id, id DESC);
CREATE UNIQUE INDEX imports_running ON imports (account_id) WHERE finished_at IS NULL; -- one at a time
CREATE INDEX imports_finished ON imports (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE import_lines (
    import_id  bigint NOT NULL REFERENCES imports ON DELETE CASCADE,
    number     integer NOT NULL, -- in the file
    target     text NOT NULL CHECK (length(target) BETWEEN 1 AND 2048),
    options    jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(options) = 'object'),
    done       boolean NOT NULL DEFAULT false,
    error      text CHECK (length(error) <= 500), -- of a line that is done and had no effect
    PRIMARY KEY (import_id, number)
);

CREATE INDEX import_lines_waiting ON import_lines (import_id, number) WHERE NOT done;
CREATE INDEX import_lines_failed ON import_lines (import_id, number) WHERE error IS NOT NULL;
CREATE INDEX import_lines_target ON import_lines (import_id, md5(target)); -- a target may be too long for an index
