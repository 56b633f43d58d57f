-- Give the things of other servers the spelling of their URIs that documents are read in: percent-encoded.
-- Where a URI is there in both spellings, or would become too long, the old one stays. It is not found any more.

CREATE FUNCTION pg_temp.ascii_uri(uri text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(
        CASE
            WHEN octet_length(sign) = 1 THEN sign
            ELSE upper(regexp_replace(encode(convert_to(sign, 'UTF8'), 'hex'), '..', '%\&', 'g'))
        END, '' ORDER BY place
    )
    FROM regexp_split_to_table(uri, '') WITH ORDINALITY AS signs (sign, place)
$$;

-- A character of ASCII is one byte: rows with others are found without a look at each character.
UPDATE statuses s SET uri = pg_temp.ascii_uri(uri)
WHERE octet_length(uri) > length(uri) AND length(pg_temp.ascii_uri(uri)) <= 2048
AND NOT EXISTS (SELECT FROM statuses other WHERE other.uri = pg_temp.ascii_uri(s.uri));
UPDATE statuses SET in_reply_to_uri = pg_temp.ascii_uri(in_reply_to_uri)
WHERE octet_length(in_reply_to_uri) > length(in_reply_to_uri) AND length(pg_temp.ascii_uri(in_reply_to_uri)) <= 2048;
UPDATE statuses SET quote_uri = pg_temp.ascii_uri(quote_uri)
WHERE octet_length(quote_uri) > length(quote_uri) AND length(pg_temp.ascii_uri(quote_uri)) <= 2048;

UPDATE tombstones t SET uri = pg_temp.ascii_uri(uri)
WHERE octet_length(uri) > length(uri) AND length(pg_temp.ascii_uri(uri)) <= 2048
AND NOT EXISTS (SELECT FROM tombstones other WHERE other.uri = pg_temp.ascii_uri(t.uri));

UPDATE favourites f SET uri = pg_temp.ascii_uri(uri)
WHERE octet_length(uri) > length(uri) AND length(pg_temp.ascii_uri(uri)) <= 2048
AND NOT EXISTS (SELECT FROM favourites other WHERE other.uri = pg_temp.ascii_uri(f.uri));
UPDATE follows f SET uri = pg_temp.ascii_uri(uri)
WHERE octet_length(uri) > length(uri) AND length(pg_temp.ascii_uri(uri)) <= 2048
AND NOT EXISTS (SELECT FROM follows other WHERE other.uri = pg_temp.ascii_uri(f.uri));
UPDATE follow_requests f SET uri = pg_temp.ascii_uri(uri)
WHERE octet_length(uri) > length(uri) AND length(pg_temp.ascii_uri(uri)) <= 2048
AND NOT EXISTS (SELECT FROM follow_requests other WHERE other.uri = pg_temp.ascii_uri(f.uri));
UPDATE blocks b SET uri = pg_temp.ascii_uri(uri)
WHERE octet_length(uri) > length(uri) AND length(pg_temp.ascii_uri(uri)) <= 2048
AND NOT EXISTS (SELECT FROM blocks other WHERE other.uri = pg_temp.ascii_uri(b.uri));

DROP FUNCTION pg_temp.ascii_uri(text);
