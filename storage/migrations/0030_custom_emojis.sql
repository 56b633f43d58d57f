-- Custom emoji, of this server (domain IS NULL) and of others.
CREATE TABLE custom_emojis (
    id bigint PRIMARY KEY,
    shortcode text NOT NULL CHECK (shortcode ~ '^[a-zA-Z0-9_]{2,100}$'),
    domain text,
    file text NOT NULL,
    static_file text NOT NULL, -- the same file if the picture does not move
    category text,
    visible_in_picker boolean NOT NULL DEFAULT true,
    disabled boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX custom_emojis_of_this_server ON custom_emojis (shortcode) WHERE domain IS NULL;
CREATE UNIQUE INDEX custom_emojis_of_others ON custom_emojis (domain, shortcode) WHERE domain IS NOT NULL;
