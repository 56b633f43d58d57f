-- Media that their owner has deleted, and that are kept for staff while a report about their status is open.
ALTER TABLE media_attachments ADD COLUMN discarded boolean NOT NULL DEFAULT false;
