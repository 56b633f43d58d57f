"""Backups: what is in one, how it is made beside a running server, how it is checked and restored.

A backup folder holds the contents of files once, by their hash, however many backups name them:

    files/4f/4f01…                 the contents of a file, named by its SHA-256
    2026-11-23T10-15-00Z.dump      the database, as pg_dump wrote it
    2026-11-23T10-15-00Z.manifest  what the backup consists of; written last, so a backup without it does not exist
    unfinished                     what an interrupted run has stored; the next one goes on there

**Why each file is there that a row names.** The server makes files before it commits the rows that name them, and
removes them after it has committed that no row names them. Their names are random and never used again. So at the
moment of a snapshot, all files are there that the snapshot names. Files are copied before the snapshot is taken,
because the server goes on to remove some after it. What came between the copying and the snapshot is copied after the
snapshot. If one of these is gone already, its row was deleted meanwhile, and a new snapshot is taken; each of these
rounds is as short as the few files of the round before took. A file that is not there although two snapshots in a row
name it was lost before: the backup says so and is made without it. Only then pg_dump reads the last snapshot.
"""
