-- Moderation: reports, what staff did to accounts, and the record of all acts of staff.

CREATE TABLE reports (
    id                          bigint PRIMARY KEY,
    account_id                  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    target_account_id           bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    status_ids                  bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(status_ids) <= 1000),
    rule_ids                    bigint[] CHECK (cardinality(rule_ids) <= 1000),
    category                    text NOT NULL DEFAULT 'other' CHECK (category IN ('spam', 'legal', 'violation', 'other')),
    comment                     text NOT NULL DEFAULT '' CHECK (length(comment) <= 10000),
    forwarded                   boolean NOT NULL DEFAULT false,
    uri                         text CHECK (length(uri) <= 2048),
    assigned_account_id         bigint REFERENCES accounts ON DELETE SET NULL,
    action_taken_at             timestamptz,
    action_taken_by_account_id  bigint REFERENCES accounts ON DELETE SET NULL,
    created_at                  timestamptz NOT NULL,
    updated_at                  timestamptz NOT NULL
);

CREATE INDEX reports_unresolved ON reports (id DESC) WHERE action_taken_at IS NULL;
CREATE INDEX reports_target ON reports (target_account_id, id DESC);
CREATE INDEX reports_author ON reports (account_id, id DESC);
CREATE INDEX reports_assigned ON reports (assigned_account_id) WHERE assigned_account_id IS NOT NULL;
CREATE INDEX reports_resolver ON reports (action_taken_by_account_id) WHERE action_taken_by_account_id IS NOT NULL;
CREATE UNIQUE INDEX reports_uri ON reports (uri) WHERE uri IS NOT NULL;
-- Statuses that are kept, although they were deleted.
CREATE INDEX reports_statuses ON reports USING gin (status_ids) WHERE action_taken_at IS NULL;

CREATE TABLE report_notes (
    id          bigint PRIMARY KEY,
    report_id   bigint NOT NULL REFERENCES reports ON DELETE CASCADE,
    account_id  bigint REFERENCES accounts ON DELETE SET NULL,
    content     text NOT NULL CHECK (length(content) BETWEEN 1 AND 2000),
    created_at  timestamptz NOT NULL
);

CREATE INDEX report_notes_page ON report_notes (report_id, id);
CREATE INDEX report_notes_author ON report_notes (account_id) WHERE account_id IS NOT NULL;

-- What staff decided about an account, and told its user.
CREATE TABLE strikes (
    id                 bigint PRIMARY KEY,
    target_account_id  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    account_id         bigint REFERENCES accounts ON DELETE SET NULL,
    action             text NOT NULL CHECK (action IN (
        'none', 'disable', 'mark_statuses_as_sensitive', 'delete_statuses', 'sensitive', 'silence', 'suspend'
    )),
    text               text NOT NULL DEFAULT '' CHECK (length(text) <= 10000),
    status_ids         bigint[] CHECK (cardinality(status_ids) <= 1000),
    report_id          bigint REFERENCES reports ON DELETE SET NULL,
    overruled_at       timestamptz,
    created_at         timestamptz NOT NULL
);

CREATE INDEX strikes_target ON strikes (target_account_id, id DESC);
CREATE INDEX strikes_author ON strikes (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX strikes_report ON strikes (report_id) WHERE report_id IS NOT NULL;

CREATE TABLE appeals (
    id                   bigint PRIMARY KEY,
    strike_id            bigint NOT NULL UNIQUE REFERENCES strikes ON DELETE CASCADE,
    account_id           bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    text                 text NOT NULL CHECK (length(text) BETWEEN 1 AND 2000),
    approved_at          timestamptz,
    rejected_at          timestamptz,
    decided_by_id        bigint REFERENCES accounts ON DELETE SET NULL,
    created_at           timestamptz NOT NULL,
    CHECK (approved_at IS NULL OR rejected_at IS NULL)
);

CREATE INDEX appeals_account ON appeals (account_id, id DESC);
CREATE INDEX appeals_pending ON appeals (id DESC) WHERE approved_at IS NULL AND rejected_at IS NULL;
CREATE INDEX appeals_decided_by ON appeals (decided_by_id) WHERE decided_by_id IS NOT NULL;

-- Every act of staff. Nothing refers to other rows, so that no deletion reaches it; names are those of the time.
CREATE TABLE audit_log (
    id           bigint PRIMARY KEY,
    actor_id     bigint,  -- null at the command line
    actor        text NOT NULL CHECK (length(actor) <= 320),
    action       text NOT NULL CHECK (length(action) BETWEEN 1 AND 64),
    target_type  text NOT NULL CHECK (length(target_type) BETWEEN 1 AND 64),
    target_id    bigint,
    target       text NOT NULL CHECK (length(target) <= 2048),
    reason       text NOT NULL DEFAULT '' CHECK (length(reason) <= 10000),
    details      jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(details) = 'object'),
    created_at   timestamptz NOT NULL
);

CREATE INDEX audit_log_target ON audit_log (target_type, target_id, id DESC);
CREATE INDEX audit_log_actor ON audit_log (actor_id, id DESC);

-- Notifications of staff about reports, and of users about strikes.
ALTER TABLE notifications
    ADD COLUMN report_id bigint REFERENCES reports ON DELETE CASCADE,
    ADD COLUMN strike_id bigint REFERENCES strikes ON DELETE CASCADE;

CREATE INDEX notifications_report ON notifications (report_id) WHERE report_id IS NOT NULL;
CREATE INDEX notifications_strike ON notifications (strike_id) WHERE strike_id IS NOT NULL;
