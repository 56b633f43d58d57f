-- Attempts that all nodes of a cluster count together: wrong passwords and codes, sign-ups, requested mails. A server that
-- is alone counts them in memory, and writes no rows. The table is not in the WAL: after a crash of PostgreSQL the counts
-- begin again, as those of a server that is alone do after a restart.
CREATE UNLOGGED TABLE rate_counts (
    key      bytea PRIMARY KEY CHECK (length(key) = 32),    -- the hash of the rule and the subject
    used     integer NOT NULL CHECK (used >= 0),
    ends_at  timestamptz NOT NULL                           -- of the window in which `used` is counted
) WITH (fillfactor = 70);

CREATE INDEX rate_counts_ends_at ON rate_counts (ends_at);
