-- The inboxes of other servers in their order, so that all of them can be told of a deletion some at a time.
CREATE INDEX accounts_inboxes ON accounts ((coalesce(shared_inbox_url, inbox_url)), domain)
    WHERE domain IS NOT NULL AND deleted_at IS NULL;
