"""The types of notifications that a device can ask to be alerted to."""

ALERTS = (
    "mention",
    "status",
    "reblog",
    "follow",
    "follow_request",
    "favourite",
    "poll",
    "update",
    "quote",
    "quoted_update",
    "admin.sign_up",
    "admin.report",
)
