-- A code remembers the token that it was exchanged for: a code that comes a second time revokes that token.
ALTER TABLE oauth_grants ADD COLUMN token_id bigint REFERENCES access_tokens ON DELETE SET NULL;

CREATE INDEX oauth_grants_token ON oauth_grants (token_id) WHERE token_id IS NOT NULL;

-- What is deleted after some time: tokens that were revoked, tokens of applications, users who never confirmed.
CREATE INDEX access_tokens_revoked ON access_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX access_tokens_of_applications ON access_tokens (id) WHERE account_id IS NULL;
CREATE INDEX users_unconfirmed ON users (created_at) WHERE confirmed_at IS NULL;
