"""Documents of ActivityPub, the URIs of this server, and signatures. Nothing is sent or stored here.

Every document of another server is normalized first (`normalization.py`). No document blocks the event loop for long.
The table has the largest documents that are read, and their cost between two checkpoints, in milliseconds.
`tests/activitypub/test_largest_documents.py` tests these limits, `tests/fuzz/edge_targets.py` has the parsers.

    document                        limit                                                                             ms
    any, also WebFinger             1 MiB, 100,000 values, 10,000 objects and lists, depth 32; refused before parsing 28
    values to normalize             10,000, and 1,000 names that are not plain                                        31
    lists: tags, files, addressees  the first 2,000 elements; 100 pictures                                            30
    actor (in a thread)             50 fields of 4,094 characters and 50 tags; a description of 20,480 (stored 40,960) 5
    keys of an actor                10; RSA of 1,024 to 8,192 bits with an exponent of at most 31 bits                10
    signature headers               8,192 characters, 64 headers; one signature of RFC 9421                            4
    Collection-Synchronization      4,300 characters                                                                   1
    URIs with non-ASCII characters  2,000 of a list, each of 2,048 characters when encoded                            21
    XML (host-meta, WebFinger),     64 and                                                                            16
    head of a page                  256 KiB
"""
