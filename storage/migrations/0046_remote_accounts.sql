-- The totals that an account's own server tells. They are apart from what is counted here, which goes up and down with
-- the rows of this server.
ALTER TABLE account_counts
    ADD COLUMN told_statuses   bigint CHECK (told_statuses >= 0),
    ADD COLUMN told_followers  bigint CHECK (told_followers >= 0),
    ADD COLUMN told_following  bigint CHECK (told_following >= 0);

-- The stamp of a suspension by the account's own server, which is also in `suspended_at`. What that server takes back is
-- this suspension alone.
ALTER TABLE accounts ADD COLUMN suspended_at_home timestamptz;
