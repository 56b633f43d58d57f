-- Notifications of one kind about one thing stand in one group for twelve hours; conversations know where they begin.

-- `group_hour` is the hour, counted from 1970, of the first in the group; those that are never grouped have none.
ALTER TABLE notifications ADD COLUMN group_hour bigint;
ALTER TABLE notifications ADD COLUMN group_key text NOT NULL GENERATED ALWAYS AS (
    CASE
        WHEN group_hour IS NULL THEN 'ungrouped-' || id::text
        ELSE type || coalesce('-' || status_id::text, '') || '-' || group_hour::text
    END
) STORED CHECK (length(group_key) <= 128);

CREATE INDEX notifications_group ON notifications (account_id, group_key);
CREATE INDEX notifications_grouped ON notifications (account_id, type, status_id, group_hour) WHERE group_hour IS NOT NULL;

-- What is older was removed from the list by its owner, or never stood there.
ALTER TABLE account_conversations ADD COLUMN first_status_id bigint NOT NULL DEFAULT 0;
