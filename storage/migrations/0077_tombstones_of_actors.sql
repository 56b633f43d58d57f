-- A thing has a tombstone for each actor that says it is gone. A statement of another actor of the same server replaces
-- none, so that what its owner has deleted or undone stays gone.
ALTER TABLE tombstones DROP CONSTRAINT tombstones_pkey;
CREATE UNIQUE INDEX tombstones_of_actors ON tombstones (uri, md5(coalesce(by_uri, '')));
