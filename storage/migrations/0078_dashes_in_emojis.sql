-- Emoji of other servers may have a dash or a plus in their names.
ALTER TABLE custom_emojis DROP CONSTRAINT custom_emojis_shortcode_check;
ALTER TABLE custom_emojis ADD CONSTRAINT custom_emojis_shortcode_check CHECK (
    shortcode ~ '^[a-zA-Z0-9_]{2,100}$' OR (domain IS NOT NULL AND shortcode ~ '^[a-zA-Z0-9_+-]{2,100}$')
);
