-- What waits to be processed is looked for at start and after each piece of work; nearly nothing ever waits.

CREATE INDEX media_attachments_waiting ON media_attachments (id) WHERE state = 'waiting';
