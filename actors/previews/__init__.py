"""Previews of pages that statuses link to: how a page is fetched and read, and what of it becomes the card."""
