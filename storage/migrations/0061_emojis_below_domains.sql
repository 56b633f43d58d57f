-- Emoji of other servers below one registered domain are counted. A name read backwards begins with its domain.
CREATE INDEX custom_emojis_below ON custom_emojis ((reverse(split_part(domain, ':', 1)) COLLATE "C"))
    WHERE domain IS NOT NULL;
