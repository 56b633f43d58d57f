"""Mail: letters, the post office that keeps sending them until they are gone, and SMTP."""
