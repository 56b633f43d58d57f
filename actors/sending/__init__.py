"""The activities of local accounts and the inboxes that they go to, found in the transaction of the change."""
