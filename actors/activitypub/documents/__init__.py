"""Documents of this server's own things: actors, notes, activities and collections, made from records without I/O.

Each function returns a whole document with its `@context`. A document that is embedded in another one leaves its
`@context` to that one.
"""
