-- The node that has the file of a waiting upload, and processes it. Null: no upload of this attachment has waited.
ALTER TABLE media_attachments ADD COLUMN node text CHECK (node ~ '^[a-z0-9-]{1,16}$');

-- The default of the setting `node`.
UPDATE media_attachments SET node = 'main' WHERE state = 'waiting';

ALTER TABLE media_attachments
    ADD CONSTRAINT media_attachments_waiting_somewhere CHECK (state <> 'waiting' OR node IS NOT NULL);
