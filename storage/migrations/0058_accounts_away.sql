-- Accounts that each page of notifications leaves out. Without it, all accounts are read for a page.
CREATE INDEX accounts_away ON accounts (id) WHERE suspended_at IS NOT NULL OR deleted_at IS NOT NULL;
