-- Tokens of applications are deleted when they were not used for some time. Nothing kept that time until now.
UPDATE access_tokens SET last_used_at = now() WHERE account_id IS NULL AND revoked_at IS NULL;
