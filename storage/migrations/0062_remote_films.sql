-- Copies of other servers' films and sound are kept beside those of their pictures.
ALTER TABLE remote_files DROP CONSTRAINT remote_files_made_check,
    ADD CONSTRAINT remote_files_made_check CHECK (made IN ('image', 'avatar', 'header', 'emoji', 'film'));
