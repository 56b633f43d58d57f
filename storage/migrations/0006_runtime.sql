-- What the runtime itself must not forget.

-- One row: the term of the node that may write. A higher term fences out every node before it.
CREATE TABLE node (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    term      bigint NOT NULL CHECK (term >= 0)
);

INSERT INTO node (term) VALUES (0);

CREATE TABLE idempotency (
    account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    key         text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    status_id   bigint NOT NULL REFERENCES statuses ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (account_id, key)
);

CREATE INDEX idempotency_status ON idempotency (status_id);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Effects promised by a transaction and not yet carried out.
CREATE TABLE outbox (
    id             bigint PRIMARY KEY,
    kind           text NOT NULL CHECK (length(kind) BETWEEN 1 AND 64),
    partition_key  text NOT NULL CHECK (length(partition_key) BETWEEN 1 AND 255),
    payload        jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
    request_id     text CHECK (length(request_id) <= 64),
    causes         text[] NOT NULL DEFAULT '{}' CHECK (cardinality(causes) <= 64),
    attempts       integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    error          text CHECK (length(error) <= 2000),
    due_at         timestamptz NOT NULL,
    created_at     timestamptz NOT NULL
);

CREATE INDEX outbox_due ON outbox (due_at, id);
CREATE INDEX outbox_partition ON outbox (partition_key, id);

-- Messages that crashed their actor twice, parked for the operator.
CREATE TABLE dead_letters (
    id          bigint PRIMARY KEY,
    address     text NOT NULL CHECK (length(address) BETWEEN 1 AND 255),
    kind        text NOT NULL CHECK (length(kind) BETWEEN 1 AND 128),
    message     jsonb NOT NULL,
    error       text NOT NULL CHECK (length(error) <= 2000),
    request_id  text CHECK (length(request_id) <= 64),
    causes      text[] NOT NULL DEFAULT '{}' CHECK (cardinality(causes) <= 64),
    created_at  timestamptz NOT NULL
);

CREATE INDEX dead_letters_address ON dead_letters (address, id DESC);
