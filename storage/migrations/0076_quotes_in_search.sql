-- Mark posts that quote one, for the search operators has:quote and is:quote.

UPDATE status_words SET words = words || '''has:quote'''::tsvector
FROM statuses WHERE statuses.id = status_words.status_id AND statuses.quote_state IS NOT NULL;
