-- Cards of the pages that statuses link to: one row for each address, shared by all statuses with that link.

-- A page that has nothing to show has a row too (`found` is false), so that it is not fetched for each status again.
CREATE TABLE preview_cards (
    id                 bigint PRIMARY KEY,
    url                text NOT NULL UNIQUE CHECK (length(url) BETWEEN 1 AND 2048),
    found              boolean NOT NULL,
    type               text NOT NULL DEFAULT 'link' CHECK (type IN ('link', 'photo', 'video', 'rich')),
    title              text NOT NULL DEFAULT '' CHECK (length(title) <= 500),
    description        text NOT NULL DEFAULT '' CHECK (length(description) <= 1000),
    language           text CHECK (length(language) <= 16),
    author_name        text NOT NULL DEFAULT '' CHECK (length(author_name) <= 200),
    author_url         text NOT NULL DEFAULT '' CHECK (length(author_url) <= 2048),
    provider_name      text NOT NULL DEFAULT '' CHECK (length(provider_name) <= 200),
    provider_url       text NOT NULL DEFAULT '' CHECK (length(provider_url) <= 2048),
    html               text NOT NULL DEFAULT '' CHECK (length(html) <= 8192),
    embed_url          text NOT NULL DEFAULT '' CHECK (length(embed_url) <= 2048),
    width              integer NOT NULL DEFAULT 0 CHECK (width BETWEEN 0 AND 100000),
    height             integer NOT NULL DEFAULT 0 CHECK (height BETWEEN 0 AND 100000),
    image_file         text CHECK (length(image_file) <= 255),
    image_description  text NOT NULL DEFAULT '' CHECK (length(image_description) <= 1500),
    blurhash           text CHECK (length(blurhash) <= 100),
    published_at       timestamptz,
    fetched_at         timestamptz NOT NULL
);

-- The card that a status shows. `id` sorts among the ids of edits: streams show the status again when its card comes.
CREATE TABLE status_cards (
    status_id  bigint PRIMARY KEY REFERENCES statuses ON DELETE CASCADE,
    card_id    bigint NOT NULL REFERENCES preview_cards,
    id         bigint NOT NULL
);

CREATE INDEX status_cards_card ON status_cards (card_id, status_id DESC);
