"""A folder that keeps a collection: one database, and snapshots of the tree beside it.

- `schema`: the tables, and connections to them
- `facts`: named values: settings, encoder, notes
- `rows`: keys, texts and classes by id
- `pairs`: what was said and answered about two of them
- `events`: a standing clustering, and what became of its clusters
- `operations`: what was done, numbered, in a form that can be done again
- `trees`: a tree as rows of the database, the beginning of replay
- `journal`: operations on their way to disk; one commit for all that wait
- `copies`: copies of trees that others go on changing
- `snapshots`: trees in files that name the operation they stand at
- `replay`: the tree that follows from all of these
- `folder`: the whole: who may write, what is opened, compaction
- `maker`: who has done the operations, by version and processor
- `verifying`: every byte of it compared
"""
