"""Writes docs/cli.md from the help texts of `perch`: python -m docs.cli_page."""

from pathlib import Path

import click

from perchtree.cli import main

_WIDTH = 90


def write_manual() -> str:
    """The page."""
    settings = main.context_settings | {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(main, info_name="perch", **settings)
    parts = ["# The `perch` command", "Made by `make manual` from the help texts; not edited.",
             _block(main.get_help(context))]  # fmt: skip
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        below = click.Context(command, parent=context, info_name=name, **settings)
        parts += [f"## `perch {name}`", _block(command.get_help(below))]
    return "\n\n".join(parts) + "\n"


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(write_manual())
