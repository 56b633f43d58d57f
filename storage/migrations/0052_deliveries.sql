-- The number of deliveries that an activity waits for. The last one deletes it.
ALTER TABLE activities ADD COLUMN deliveries integer NOT NULL CHECK (deliveries > 0);
