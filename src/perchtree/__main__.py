"""`python -m perchtree` is `perch`."""

from .cli import main

main(prog_name="perch")
