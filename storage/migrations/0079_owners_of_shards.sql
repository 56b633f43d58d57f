-- The server process that may write the rows of an account. Accounts are divided into 256 shards. The node of a shard
-- writes until another node raises the epoch of the shard: each transaction of the owner compares the epoch and holds a
-- shared lock of the shard until its end, and a takeover holds the exclusive lock. So no transaction of an earlier epoch
-- commits after a transaction of a later epoch.
CREATE TABLE nodes (
    name         text PRIMARY KEY CHECK (name ~ '^[a-z0-9-]{1,16}$'),
    incarnation  bigint NOT NULL CHECK (incarnation > 0),       -- the process: above those of all earlier processes
    number       smallint NOT NULL UNIQUE CHECK (number BETWEEN 0 AND 62),  -- in its ids; commands have 63
    address      text CHECK (length(address) <= 255),           -- where other nodes reach it; null: it has no others
    beat         bigint CHECK (beat >= 0),                      -- raised while it lives; null: it holds the term, alone
    draining     boolean NOT NULL DEFAULT false,                -- it gives its shards away
    protocol     smallint NOT NULL CHECK (protocol > 0),        -- of the messages between nodes
    schema       integer NOT NULL CHECK (schema > 0),           -- the last migration that it knows
    joining      boolean NOT NULL DEFAULT false                 -- it has not heard all other nodes, and takes no shards
);

-- The incarnation of the last process that has joined. Rows of nodes are deleted, so their maximum may be too low.
ALTER TABLE node ADD COLUMN incarnation bigint NOT NULL DEFAULT 0 CHECK (incarnation >= 0);

CREATE TABLE shards (
    shard  smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 255),
    node   text REFERENCES nodes ON DELETE SET NULL CHECK (length(node) <= 16),
    epoch  bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0)
);

CREATE INDEX shards_node ON shards (node);

INSERT INTO shards (shard) SELECT generate_series(0, 255);

-- Enter a shard in a transaction of its owner, which must be READ COMMITTED: then the SELECT has a snapshot of its own,
-- and sees the epoch of a takeover for whose lock the transaction has waited.
CREATE FUNCTION enter_shard(entered smallint, owned bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    current_epoch bigint;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7461006, entered);
    SELECT epoch INTO current_epoch FROM shards WHERE shard = entered;
    IF current_epoch IS DISTINCT FROM owned THEN
        RAISE EXCEPTION 'shard % has epoch %, not %', entered, current_epoch, owned USING ERRCODE = 'TR001';
    END IF;
    RETURN true;
END
$$;

-- Take shards for a node, after the transactions of their owners have ended. Return the new epochs. Without a node the
-- shards have no owner until the next take.
CREATE FUNCTION take_shards(taken smallint[], taker text) RETURNS SETOF shards LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7461006, wanted) FROM (SELECT unnest(taken) AS wanted ORDER BY wanted) AS in_order;
    RETURN QUERY
        UPDATE shards s SET node = taker, epoch = s.epoch + 1 WHERE s.shard = ANY(taken) RETURNING s.*;
END
$$;
