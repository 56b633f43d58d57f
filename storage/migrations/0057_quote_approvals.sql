-- Quotes by the documents of other servers that allow them: when such a document is deleted, the quote ends.
CREATE INDEX statuses_quote_approvals ON statuses (quote_approval_uri) WHERE quote_approval_uri IS NOT NULL;
