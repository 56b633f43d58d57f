-- Of two sign-ups with two spellings of one address at once, this index decides which succeeds. Users who had spellings
-- of an older user's address before it keep them until they change the address.
ALTER TABLE users ADD COLUMN shares_email boolean NOT NULL DEFAULT false;

UPDATE users u SET shares_email = true WHERE EXISTS (
    SELECT FROM users o WHERE o.account_id < u.account_id AND
    replace(split_part(split_part(lower(o.email), '@', 1), '+', 1), '.', '') || '@' || split_part(lower(o.email), '@', 2)
    =
    replace(split_part(split_part(lower(u.email), '@', 1), '+', 1), '.', '') || '@' || split_part(lower(u.email), '@', 2)
);

CREATE UNIQUE INDEX users_email_spelling ON users ((
    replace(split_part(split_part(lower(email), '@', 1), '+', 1), '.', '') || '@' || split_part(lower(email), '@', 2)
)) WHERE NOT shares_email;
