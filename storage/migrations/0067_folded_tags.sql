-- Give hashtags the names that they have without accents (`tag_name`), and merge those that become one.

-- The oldest of them stays, with the spelling that was first used. What staff have forbidden stays forbidden.
CREATE TEMPORARY TABLE folded ON COMMIT DROP AS
WITH named AS (
    SELECT id, name, created_at, left(normalize(
        regexp_replace(
            replace(translate(normalize(name, NFD), 'đðħıĸłŋøŧ', 'ddhiklnot'), 'ß', 'ss'),
            '([a-zæœ])[\u0300-\u036f]+', '\1', 'g'
        ), NFC
    ), 255) AS folded
    FROM tags WHERE name ~ '[^\u0001-\u007f]'
), changed AS (
    SELECT id, created_at, folded FROM named WHERE folded <> name
), one AS (
    SELECT * FROM changed
    UNION SELECT id, created_at, name FROM tags WHERE name IN (SELECT folded FROM changed)
)
SELECT id, folded AS name, first_value(id) OVER (PARTITION BY folded ORDER BY created_at, id) AS kept FROM one;

UPDATE tags t SET
    usable = merged.usable, listable = merged.listable, trendable = merged.trendable, reviewed_at = merged.reviewed_at
FROM (
    SELECT
        f.kept, bool_and(usable) AS usable, bool_and(listable) AS listable, bool_and(trendable) AS trendable,
        max(reviewed_at) AS reviewed_at
    FROM folded f JOIN tags USING (id) GROUP BY f.kept HAVING count(*) > 1
) AS merged
WHERE t.id = merged.kept;

INSERT INTO status_tags (tag_id, status_id)
SELECT f.kept, st.status_id FROM folded f JOIN status_tags st ON st.tag_id = f.id WHERE f.id <> f.kept
ON CONFLICT DO NOTHING;

DELETE FROM followed_tags WHERE id IN (
    SELECT id FROM (
        SELECT followed.id, row_number() OVER (PARTITION BY followed.account_id, f.kept ORDER BY followed.id) AS place
        FROM followed_tags followed JOIN folded f ON f.id = followed.tag_id
    ) AS placed WHERE place > 1
);
UPDATE followed_tags followed SET tag_id = f.kept FROM folded f WHERE f.id = followed.tag_id AND f.id <> f.kept;

DELETE FROM featured_tags WHERE id IN (
    SELECT id FROM (
        SELECT featured.id, row_number() OVER (PARTITION BY featured.account_id, f.kept ORDER BY featured.id) AS place
        FROM featured_tags featured JOIN folded f ON f.id = featured.tag_id
    ) AS placed WHERE place > 1
);
UPDATE featured_tags featured SET tag_id = f.kept FROM folded f WHERE f.id = featured.tag_id AND f.id <> f.kept;
UPDATE featured_tags featured SET (statuses, last_status_at) = (
    SELECT count(*), max(s.created_at) FROM statuses s JOIN status_tags st ON st.status_id = s.id
    WHERE s.account_id = featured.account_id AND st.tag_id = featured.tag_id
    AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted')
)
WHERE tag_id IN (SELECT kept FROM folded WHERE id <> kept);

DELETE FROM tags WHERE id IN (SELECT id FROM folded WHERE id <> kept);
UPDATE tags t SET name = f.name FROM folded f WHERE f.id = t.id AND t.name <> f.name;
