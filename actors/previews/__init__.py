"""Previews of pages that statuses link to: fetches and reads a page, and makes its card."""
