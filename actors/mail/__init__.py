"""Mail: the templates, the sender that retries until a mail is delivered, and SMTP."""
