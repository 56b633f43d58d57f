-- Who carries out an effect now, and which effects share the workers of a queue.
ALTER TABLE outbox
    ADD COLUMN claimed_by     bigint,       -- a relay; null: none
    ADD COLUMN claimed_until  timestamptz,  -- from then on another relay may claim the row
    ADD COLUMN group_key      text CHECK (length(group_key) BETWEEN 1 AND 255),  -- null: the partition is the group
    ADD COLUMN shard          smallint CHECK (shard BETWEEN 0 AND 255),  -- null: the row is older than this column
    ADD CONSTRAINT outbox_claimed CHECK ((claimed_by IS NULL) = (claimed_until IS NULL));
