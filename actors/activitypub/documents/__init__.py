"""Documents of this server's own things: actors, notes, activities and collections, made from records without I/O.

Each function returns a whole document with its `@context`. An embedded document has no `@context`: that of the outer
document holds.
"""
