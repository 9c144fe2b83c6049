"""Running `perch` in this process."""

import json

from click.testing import CliRunner

from perchtree.cli import main


class Command:
    """`perch`, without a process of its own."""

    def __call__(self, *args, code=0, stdin=None):
        """Run it; the result, whose exit code is what was expected (None: 0 or 1)."""
        result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
        assert code is None or result.exit_code == code, result.output + repr(result.exception)
        assert "Traceback" not in result.output
        return result

    def fails(self, *args, code=1):
        """Run it and expect one line of error; that line."""
        error = self(*args, code=code).stderr
        assert error.startswith("perch: error: ") or code == 2, error
        assert code == 2 or error.count("\n") == 1, error
        return error

    def json(self, *args):
        return json.loads(self(*args, "--json").stdout)
