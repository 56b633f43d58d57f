-- Statuses that were deleted long ago are erased. A reply still says which status it replied to, although that one is
-- gone: without it the reply would count as none and appear on the public timelines.
ALTER TABLE statuses DROP CONSTRAINT statuses_in_reply_to_id_fkey;
