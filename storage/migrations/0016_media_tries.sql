-- Uploads that wait are tried again when their processing fails, and say why when it has failed for good.

ALTER TABLE media_attachments
    ADD COLUMN tries smallint NOT NULL DEFAULT 0 CHECK (tries >= 0),
    ADD COLUMN retry_at timestamptz,
    ADD COLUMN failure text CHECK (length(failure) <= 1000);

-- Processing is fair between accounts, so waiting uploads are found by account.
DROP INDEX media_attachments_waiting;
CREATE INDEX media_attachments_waiting ON media_attachments (account_id, id) WHERE state = 'waiting';
