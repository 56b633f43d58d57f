-- The directory lists accounts by the time they were made, and by the time of their last status.
CREATE INDEX accounts_directory ON accounts (created_at DESC, id DESC)
    WHERE discoverable AND suspended_at IS NULL AND silenced_at IS NULL AND moved_to_id IS NULL AND deleted_at IS NULL;
-- Most accounts of a large server are remote: a page of the local ones must not read past them.
CREATE INDEX accounts_directory_local ON accounts (created_at DESC, id DESC)
    WHERE discoverable AND suspended_at IS NULL AND silenced_at IS NULL AND moved_to_id IS NULL AND deleted_at IS NULL
    AND domain IS NULL;

-- The only secondary index of the counts. Counting follows stays a heap-only update, a new status writes to the index.
CREATE INDEX account_counts_activity ON account_counts (last_status_at DESC NULLS LAST, account_id DESC);
