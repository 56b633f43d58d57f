"""What local accounts tell other servers: which activity goes to which inboxes, in the transaction of the change."""
