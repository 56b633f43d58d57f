-- A dot or a tag makes another address: of `sam.lee@` and `sam.lee+art@` each may have an account. Only blocked addresses
-- are compared without them.

DROP INDEX users_email_spelling;
ALTER TABLE users DROP COLUMN shares_email;
