"""Files that can be trusted.

- `replacing`: a file is replaced in one step, or stays as it was
- `locking`: one writer per file
- `container`: sections of settings and arrays, with checksums
- `columns`: numbers and texts, one value per row, as arrays
- `trees`: what is in the file of a tree
"""
