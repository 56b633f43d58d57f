-- Whoever wants to hear of everything that an account posts, found at each post without reading all its followers.

CREATE INDEX follows_notified ON follows (target_account_id) WHERE notify;
