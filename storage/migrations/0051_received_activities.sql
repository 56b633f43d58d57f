-- What statuses and accounts of other servers bring along.

-- Emoji of other servers have an address; their picture is fetched later. Those of this server have files.
ALTER TABLE custom_emojis
    ALTER COLUMN file DROP NOT NULL,
    ALTER COLUMN static_file DROP NOT NULL,
    ADD COLUMN remote_url text CHECK (length(remote_url) <= 2048),
    ADD CONSTRAINT custom_emojis_of_this_server_have_files
        CHECK (domain IS NOT NULL OR (file IS NOT NULL AND static_file IS NOT NULL));

-- An account moves once a week at most.
ALTER TABLE accounts ADD COLUMN moved_at timestamptz;

-- A reply whose parent is not known here has an id in `in_reply_to_id` under which nothing is stored, as the reply to an
-- erased status has, so that all queries and indexes count it as a reply. Replies to one such parent have the same id.
COMMENT ON COLUMN statuses.in_reply_to_uri IS
    'The URI of a parent that is not known here. `in_reply_to_id` is then an id under which nothing is stored.';
