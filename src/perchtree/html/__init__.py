"""The explorer: a page on which people see a tree and its clusters.

`boxes` arranges the tree, `offered` and `content` gather what a page in a file shows, `page` writes
it. The folder `explorer` has the page itself, its style and its modules, which a service serves as
they are (`assets`).
"""
