-- Repair times that earlier versions stored as infinities.

-- The driver returns these without a time zone, and every page that showed one failed. Only times that people and other
-- servers wrote can be infinite; such times have been refused since.
UPDATE polls SET expires_at = NULL WHERE NOT isfinite(expires_at);
UPDATE polls SET closed_at = created_at WHERE NOT isfinite(closed_at);
UPDATE preview_cards SET published_at = NULL WHERE NOT isfinite(published_at);
UPDATE scheduled_statuses SET scheduled_at = '9999-12-31T00:00:00Z' WHERE NOT isfinite(scheduled_at);
UPDATE announcements SET starts_at = NULL WHERE NOT isfinite(starts_at);
UPDATE announcements SET ends_at = NULL WHERE NOT isfinite(ends_at);
UPDATE announcements SET published_at = CASE WHEN published_at = '-infinity' THEN updated_at END
WHERE NOT isfinite(published_at);
