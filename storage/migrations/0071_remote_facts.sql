-- What was seen of a file of another server when its copy was made: attachments whose server told nothing get it.
-- Copies of earlier versions have none until they are made again.
ALTER TABLE remote_files
    ADD COLUMN type text CHECK (type IN ('image', 'gifv', 'video', 'audio')),
    ADD COLUMN blurhash text CHECK (length(blurhash) <= 128),
    ADD COLUMN meta jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(meta) = 'object');
