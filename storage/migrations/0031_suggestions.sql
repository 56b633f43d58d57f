-- Accounts that are no longer suggested to an account, because it followed, muted, blocked or dismissed them.
CREATE TABLE ended_suggestions (
    account_id         bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    up_to              bigint, -- interactions with higher ids suggest the account again; null: it was dismissed for good
    PRIMARY KEY (account_id, target_account_id),
    CHECK (account_id <> target_account_id)
);

CREATE INDEX ended_suggestions_target ON ended_suggestions (target_account_id);
CREATE INDEX ended_suggestions_age ON ended_suggestions (up_to) WHERE up_to IS NOT NULL;
