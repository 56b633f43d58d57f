-- The longest texts of custom emoji and announcements, as every other text has one.
ALTER TABLE custom_emojis
    ADD CHECK (length(domain) <= 255),
    ADD CHECK (length(file) <= 255),
    ADD CHECK (length(static_file) <= 255),
    ADD CHECK (length(category) <= 100);

ALTER TABLE announcements
    ADD CHECK (length(text) <= 5000),
    ADD CHECK (length(content) <= 100000);

ALTER TABLE announcement_reactions ADD CHECK (length(name) <= 100);
