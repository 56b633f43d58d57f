-- Activities that nobody has got yet are withdrawn when the thing that they tell of is deleted.

-- The URI of that thing, for those that can be withdrawn.
ALTER TABLE activities ADD COLUMN subject text CHECK (length(subject) BETWEEN 1 AND 2048);
CREATE INDEX activities_subject ON activities (account_id, subject) WHERE subject IS NOT NULL;

-- True from the first claim on, unless the relay gave the row back without having begun with it.
ALTER TABLE outbox ADD COLUMN tried boolean NOT NULL DEFAULT false;
UPDATE outbox SET tried = true WHERE claimed_by IS NOT NULL OR attempts > 0;
