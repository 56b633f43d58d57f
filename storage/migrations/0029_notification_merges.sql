-- The id of the latest merge of filtered notifications, so that a home timeline that was restarted knows of it.
ALTER TABLE users ADD COLUMN notifications_merged_id bigint NOT NULL DEFAULT 0;
