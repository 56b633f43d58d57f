-- From which addresses users came, by day. Staff see them; they are deleted after some time.
CREATE TABLE visits (
    account_id  bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    day         date NOT NULL,
    ip          inet NOT NULL,
    used_at     timestamptz NOT NULL,
    PRIMARY KEY (account_id, day, ip)
);

CREATE INDEX visits_day ON visits (day);
CREATE INDEX visits_ip ON visits USING gist (ip inet_ops);
