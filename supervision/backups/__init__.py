"""Backups: their contents, how they are made beside a running server, how they are checked and restored.

A backup folder holds the contents of files once, by their hash, however many backups name them:

    files/4f/4f01…                 the contents of a file, named by its SHA-256
    2026-11-23T10-15-00Z.dump      the database, as pg_dump wrote it
    2026-11-23T10-15-00Z.manifest  the list of its parts; written last, so a backup without it does not exist
    unfinished                     the files that an interrupted run has stored; the next run goes on there

`storage/upkeep/copies.py` lists the columns with names of files, `making.py` the other files of the data folder.

**Why each file is there that a row names.** The server makes files before it commits the rows that name them, and
removes them after it has committed that no row names them. Their names are random and never used again. So at the
moment of a snapshot, all files are there that the snapshot names. Files are copied before the snapshot is taken,
because the server may remove some of them later. Files that were made between the copying and the snapshot are copied
after the snapshot. If such a file is gone already, its row was deleted meanwhile, and a new snapshot is taken. Each
round copies only the few files that were made during the round before, so it is shorter. A file that is missing
although two snapshots in a row name it was lost before: the backup says so and is made without it. Then pg_dump reads
the last snapshot.
"""
