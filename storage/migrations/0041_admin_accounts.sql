-- What lists of accounts for staff find accounts by.
CREATE INDEX accounts_display_name ON accounts (lower(display_name) text_pattern_ops);
CREATE INDEX accounts_silenced ON accounts (id DESC) WHERE silenced_at IS NOT NULL;
CREATE INDEX accounts_sensitized ON accounts (id DESC) WHERE sensitized_at IS NOT NULL;
CREATE INDEX users_email_beginning ON users (lower(email) text_pattern_ops);
CREATE INDEX users_disabled ON users (account_id DESC) WHERE disabled_at IS NOT NULL;
CREATE INDEX users_sign_up_ip ON users USING gist (sign_up_ip inet_ops) WHERE sign_up_ip IS NOT NULL;
