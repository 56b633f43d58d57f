-- The emoji of other servers that texts of other servers use. A name in such a text means an emoji of that server.
ALTER TABLE statuses ADD COLUMN emoji_ids bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(emoji_ids) <= 100);
ALTER TABLE accounts ADD COLUMN emoji_ids bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(emoji_ids) <= 100);
