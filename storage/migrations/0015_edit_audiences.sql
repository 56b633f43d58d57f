-- Who was mentioned by a status in each of its states: a mention that comes with an edit does not show what stood there
-- before. Of older rows it is known for the last state alone; earlier ones stay with the author and the followers.
ALTER TABLE status_edits ADD COLUMN mentioned_ids bigint[] NOT NULL DEFAULT '{}';

UPDATE status_edits e SET mentioned_ids = s.mentioned_ids
FROM statuses s
WHERE s.id = e.status_id AND s.mentioned_ids <> '{}'
    AND NOT EXISTS (SELECT FROM status_edits later WHERE later.status_id = e.status_id AND later.id > e.id);
