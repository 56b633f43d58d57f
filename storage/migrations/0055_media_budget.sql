-- The bytes of a card's picture. Pictures of cards and copies of other servers' pictures share one budget.
ALTER TABLE preview_cards ADD COLUMN image_size bigint NOT NULL DEFAULT 0 CHECK (image_size >= 0);

CREATE INDEX preview_cards_pictures ON preview_cards (fetched_at) WHERE image_file IS NOT NULL;
