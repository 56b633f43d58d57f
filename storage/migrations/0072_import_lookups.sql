-- Imports: lines that wait until other servers have answered, and what was found for them. Files of different kinds are
-- carried out side by side, because one may wait for hours.

ALTER TABLE import_lines
    ADD COLUMN waits boolean NOT NULL DEFAULT false, -- for an account or a post that is looked up
    ADD COLUMN found_id bigint; -- of the account or the post. No reference: it is compared, and may be gone

DROP INDEX import_lines_waiting;
CREATE INDEX import_lines_ready ON import_lines (import_id, number) WHERE NOT done AND NOT waits;
CREATE INDEX import_lines_open ON import_lines (import_id) WHERE NOT done;

DROP INDEX imports_running;
CREATE UNIQUE INDEX imports_running ON imports (account_id, kind) WHERE finished_at IS NULL; -- one of a kind at a time
