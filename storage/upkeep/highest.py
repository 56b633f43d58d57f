"""The highest id in use, so that new ids are higher also when the clock was set back."""

from ..engine.database import Connection

# Every table whose ids the server draws. A test compares them with PostgreSQL's catalogue.
TABLES = (
    *("access_tokens", "account_conversations", "account_domain_blocks", "accounts", "activities", "allowed_domains"),
    *("announcements", "appeals", "applications", "audit_log", "blocked_domains", "blocked_email_domains"),
    *("blocked_emails", "blocked_networks", "blocks", "bookmarks", "custom_emojis", "dead_letters"),
    *("endorsements", "favourites", "featured_tags", "filter_keywords", "filter_statuses", "filters"),
    *("follow_requests", "followed_tags", "follows", "imports", "invites", "list_accounts", "lists"),
    *("media_attachments", "mutes", "notification_requests", "notifications", "outbox", "pins"),
    *("poll_votes", "polls", "preview_cards", "push_subscriptions", "report_notes", "reports"),
    *("scheduled_statuses", "status_cards", "status_edits", "statuses", "stream_log", "strikes", "tags"),
)

# A restored database is told of the ids that the first server may have handed out since the backup (see `copies.py`).
LOWEST = "(SELECT lowest_id FROM node)"

HIGHEST = f"SELECT greatest({', '.join(f'(SELECT max(id) FROM {table})' for table in TABLES)}, {LOWEST}, 0)"


async def highest_id(db: Connection) -> int:
    return await db.fetchval(HIGHEST)
