-- When the servers of others say that they edited their statuses. This is not `edited_at`: of two edits in one second
-- the second one counts too, and has the time of its arrival. Without a row, as of older statuses, `edited_at` is what
-- was told; with null nothing was.
CREATE TABLE remote_edits (
    status_id  bigint PRIMARY KEY REFERENCES statuses ON DELETE CASCADE,
    told_at    timestamptz
);
