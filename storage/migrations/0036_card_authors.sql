-- The handle of a page's author, as the page names it, and that account if it is known. A card shows the account only
-- while its own `attribution_domains` say that it writes for the page's domain.
ALTER TABLE preview_cards
    ADD COLUMN creator text NOT NULL DEFAULT '' CHECK (length(creator) <= 320),
    ADD COLUMN author_account_id bigint REFERENCES accounts;

CREATE INDEX preview_cards_author ON preview_cards (author_account_id) WHERE author_account_id IS NOT NULL;
