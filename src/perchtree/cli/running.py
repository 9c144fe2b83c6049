"""How every command runs: errors in one line, an exit code, a traceback only on request."""

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import click

from ..inert import MAX_LINE, inert_line
from .patience import patience

_HELP = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""How newer versions of click show help if there are no arguments."""

RENAMED = {"--label": "--class", "--labels": "--classes", "--beam": "--beam-width",
           "--max-leaves": "--branches"}  # fmt: skip
"""Options of earlier versions, and what they are called where they are not known any longer."""


class Command(click.Command):
    """A command that fails with one line and exit code 1; --debug shows where."""

    opens_trees = True
    """Whether it works on a collection, whose import takes a second or two."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        debug = click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_remember_debug,
            help="Show a traceback if something fails.",
        )
        self.params.append(debug)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            new = RENAMED.get(error.option_name)
            if new is None or all(new not in param.opts for param in self.params):
                raise
            raise click.UsageError(f"{error.option_name} is now called {new}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        shown = warnings.showwarning
        warnings.showwarning = lambda message, *_args, **_more: say(f"warning: {message}")
        try:
            if self.opens_trees:
                with patience("starting"):
                    importlib.import_module("perchtree.collection")
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # whoever read our output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            if ctx.meta.get("perch.debug"):
                raise
            say("stopped")
            ctx.exit(1)
        except Exception as error:
            if ctx.meta.get("perch.debug"):
                raise
            say(f"error: {describe(error)}")
            ctx.exit(1)
        finally:
            warnings.showwarning = shown
            # `python -m` kills itself at its end, whatever the exit code, if ever an interrupt has
            # left exec() of a string (imports do that); the next exec() makes it forget.
            exec("")


class QuickCommand(Command):
    """A command that needs no collection, or reports waiting times itself."""

    opens_trees = False


def _remember_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    ctx.meta["perch.debug"] = value


@contextlib.contextmanager
def inert_usage_errors() -> Iterator[None]:
    """Make what click says about wrong usage safe to show: it repeats what it was given."""
    try:
        yield
    except click.UsageError as error:
        if isinstance(error, _HELP):
            raise
        message = inert_line(error.format_message(), MAX_LINE - len("Error: "))
        raise click.UsageError(message, error.ctx) from None


def count(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number:,} {what}" + ("s" if number != 1 else "")


def written_to(output: str) -> str:
    """What to say about where a table was written."""
    return f"written to {'standard output' if output == '-' else output}"


def say(message: str) -> None:
    """Print one line on standard error; whatever is in the message, it is safe to show."""
    click.echo(inert_line(f"perch: {message}"), err=True)


def describe(error: Exception) -> str:
    """What an error says, in one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return f"out of memory ({error}): use --mode bc with --max-leaves to bound it"
    known = isinstance(error, ValueError | TypeError | OSError | ImportError)
    text = inert_line(error) or type(error).__name__
    return text if known else f"{type(error).__name__}: {text} (--debug shows where)"
