-- Let accounts be found by the words of their names, whatever the locale; the server folds the old names while it runs.

-- NULL until the server has folded the names: see `account_names.py`.
ALTER TABLE accounts ADD COLUMN names tsvector;
CREATE INDEX accounts_names ON accounts USING gin (names);
CREATE INDEX accounts_unfolded ON accounts (id) WHERE names IS NULL;
DROP INDEX accounts_words;
DROP INDEX accounts_display_name;

-- Announcements keep the names of their hashtags beside the tags, which the migration `folded_tags` has folded.
UPDATE announcements SET tags = folded.tags
FROM (
    SELECT a.id, array_agg(DISTINCT named.name) AS tags
    FROM announcements a CROSS JOIN unnest(a.tags) AS old (name) CROSS JOIN LATERAL (
        SELECT left(normalize(
            regexp_replace(
                replace(translate(normalize(old.name, NFD), 'đðħıĸłŋøŧ', 'ddhiklnot'), 'ß', 'ss'),
                '([a-zæœ])[\u0300-\u036f]+', '\1', 'g'
            ), NFC
        ), 255) AS name
    ) AS named
    WHERE EXISTS (SELECT FROM unnest(a.tags) AS tag WHERE tag ~ '[^\u0001-\u007f]')
    GROUP BY a.id
) AS folded
WHERE announcements.id = folded.id;
