-- A change of the quote policy gets an id in `quote_change_id`, as the end of a quote does. So a status that quotes
-- nothing may have one.

ALTER TABLE statuses
    DROP CONSTRAINT statuses_quote_has_a_state,
    ADD CONSTRAINT statuses_quote_has_a_state CHECK (quote_state IS NOT NULL OR quote_of_id IS NULL);
