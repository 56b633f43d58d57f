-- Statuses that are to be published later, and what is kept for them.

-- `params` is what was asked for, in the words of the command that publishes. A row lasts until it is published or
-- cancelled; one that could not be published as it was meant stays, past its time, for its owner to decide on.
CREATE TABLE scheduled_statuses (
    id              bigint PRIMARY KEY,
    account_id      bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    scheduled_at    timestamptz NOT NULL,
    params          jsonb NOT NULL CHECK (jsonb_typeof(params) = 'object'),
    media_ids       bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(media_ids) <= 32),
    application_id  bigint REFERENCES applications ON DELETE SET NULL,
    created_at      timestamptz NOT NULL
);

CREATE INDEX scheduled_statuses_page ON scheduled_statuses (account_id, id DESC);
CREATE INDEX scheduled_statuses_application ON scheduled_statuses (application_id) WHERE application_id IS NOT NULL;

-- Media belong to one status at most, be it published or not.
ALTER TABLE media_attachments
    ADD COLUMN scheduled_status_id bigint REFERENCES scheduled_statuses ON DELETE SET NULL,
    ADD CONSTRAINT media_attachments_of_one CHECK (num_nonnulls(status_id, scheduled_status_id) <= 1);

CREATE INDEX media_attachments_scheduled ON media_attachments (scheduled_status_id) WHERE scheduled_status_id IS NOT NULL;
DROP INDEX media_attachments_loose;
CREATE INDEX media_attachments_loose ON media_attachments (updated_at)
    WHERE status_id IS NULL AND scheduled_status_id IS NULL;

-- A key may have made either. The second is a name, not a reference: a key outlives what was cancelled, so that a late
-- repeat does not schedule it anew.
ALTER TABLE idempotency
    ALTER COLUMN status_id DROP NOT NULL,
    ADD COLUMN scheduled_status_id bigint,
    ADD CONSTRAINT idempotency_of_one CHECK (num_nonnulls(status_id, scheduled_status_id) = 1);
