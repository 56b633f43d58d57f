-- The public posts of an account, boosts left out. Trends read the newest ones of many accounts, and nothing of them but
-- their ids, which this index alone answers.
CREATE INDEX statuses_author_public ON statuses (account_id, id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL AND reblog_of_id IS NULL;
