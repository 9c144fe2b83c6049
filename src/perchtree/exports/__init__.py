"""Trees for other programs. All of it is built on the node table, and nothing recurses."""
