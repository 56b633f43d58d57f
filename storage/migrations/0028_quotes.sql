-- Quotes. A quote that was accepted and then revoked, or whose quoted status was deleted, gets the id of that change:
-- streams show it as they show an edit.

ALTER TABLE statuses
    ADD COLUMN quote_change_id bigint,
    -- For quotes between servers: who may ask the author, what another server's status quotes as long as that is not
    -- known here, and the request that its author answers.
    ADD COLUMN quote_manual_policy text NOT NULL DEFAULT 'nobody'
        CHECK (quote_manual_policy IN ('public', 'followers', 'nobody')),
    ADD COLUMN quote_uri text CHECK (length(quote_uri) <= 2048),
    ADD COLUMN quote_request_uri text CHECK (length(quote_request_uri) <= 2048),
    ADD CONSTRAINT statuses_quote_has_a_state
        CHECK (quote_state IS NOT NULL OR (quote_of_id IS NULL AND quote_change_id IS NULL));

CREATE UNIQUE INDEX statuses_quote_request ON statuses (quote_request_uri) WHERE quote_request_uri IS NOT NULL;

-- The quotes by an account, for a block.
CREATE INDEX statuses_quoting ON statuses (account_id) WHERE quote_state IN ('accepted', 'pending') AND deleted_at IS NULL;
