-- A look for due effects steps from one group of a queue to the next one, however many rows each has.
ALTER TABLE outbox ADD COLUMN queue text CHECK (length(queue) BETWEEN 1 AND 64);
UPDATE outbox SET queue = CASE WHEN kind IN ('mail', 'push') THEN kind ELSE 'announcements' END;
ALTER TABLE outbox ALTER COLUMN queue SET NOT NULL;

DROP INDEX outbox_due;
CREATE INDEX outbox_groups ON outbox (queue, (coalesce(group_key, partition_key) COLLATE "C"), id, due_at);
