-- Copies of other servers' pictures, which are fetched when they are first looked at. The oldest unused ones are removed
-- when all of them together take more room than they may.
CREATE TABLE remote_files (
    url             text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    made            text NOT NULL CHECK (made IN ('image', 'avatar', 'header', 'emoji')),
    file            text NOT NULL CHECK (length(file) <= 512),
    thumbnail_file  text CHECK (length(thumbnail_file) <= 512),
    size            bigint NOT NULL CHECK (size >= 0), -- bytes of both files
    fetched_at      timestamptz NOT NULL,
    used_at         timestamptz NOT NULL, -- to the day
    PRIMARY KEY (url, made)
);

CREATE INDEX remote_files_unused ON remote_files (used_at);
