-- What a copy of a database knows of the others. `lowest_id`: new ids are above it, because the server from which a backup
-- is has gone on to hand out ids. `restored_from`: the backup. `moved_to`: the database that has taken the place of this
-- one, so that no server is started on it any more.
ALTER TABLE node
    ADD COLUMN lowest_id bigint NOT NULL DEFAULT 0 CHECK (lowest_id >= 0),
    ADD COLUMN restored_from text CHECK (length(restored_from) <= 255),
    ADD COLUMN moved_to text CHECK (length(moved_to) <= 1024);
