-- The changes that streams were told of, from which a client that was interrupted resumes. A row replaces the promise in
-- the outbox, and is kept for a day.
CREATE TABLE stream_log (
    id bigint PRIMARY KEY,
    kind text NOT NULL CHECK (length(kind) <= 100),
    payload jsonb NOT NULL
);
