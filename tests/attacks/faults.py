"""Errors raised at a chosen line of the package, as a signal or a lack of memory would be."""

import dis
import functools
import sys
import threading
from pathlib import Path

import perchtree

SOURCES = str(Path(perchtree.__file__).parent)


class FaultAt:
    """Raises an error when the n-th line of the package begins.

    The body of a compiled kernel is no line: an interpreter handles signals before and after it.
    Nor is the end of a `with` block, which tracing shows as its first line again: signals are
    handled after calls, and between the last call of the block and that of `__exit__` is none.
    Nor is a line that does nothing, such as `try:`.
    """

    def __init__(self, error, n):
        self.error, self.n = error, n
        self.lines = 0
        self.place = ""

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._enter_frame)
        return self

    def __exit__(self, *_exception):
        sys.settrace(self._before)

    def _enter_frame(self, frame, event, arg):
        return self._step if frame.f_code.co_filename.startswith(SOURCES) else None

    def _step(self, frame, event, arg):
        if event == "line" and frame.f_lasti not in _unstoppable(frame.f_code):
            self.lines += 1
            if self.lines == self.n:
                self.place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                sys.settrace(self._before)
                raise self.error
        return self._step


@functools.cache
def _unstoppable(code):
    """Where no error can come: steps that do nothing, and calls of `__exit__` without an error."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    found = {step.offset for step in steps if step.opname == "NOP"}
    for place in range(len(steps) - 3):
        loads = steps[place : place + 3]
        called = steps[place + 3].opname in ("PRECALL", "CALL")
        if called and all(s.opname == "LOAD_CONST" and s.argval is None for s in loads):
            found.add(loads[0].offset)
            if steps[place - 1].opname in ("SWAP", "POP_TOP"):  # the same line begins with it
                found.add(steps[place - 1].offset)
    return found


def fails_at(work, error, n):
    """Do a piece of work with an error at the n-th line: where it came, or "" if it did not.

    The error may be handled on the way, but it must not turn into another one.
    """
    fault = FaultAt(error, n)
    try:
        with fault:
            work()
    except BaseException as raised:
        expected = error if isinstance(error, type) else type(error)
        if type(raised) is not expected:
            raise AssertionError(f"{expected} at {fault.place} became {raised!r}") from raised
    return fault.place


def in_thread(work, seconds=60):
    """What a piece of work returns in a thread of its own, which must not wait for ever.

    (It may compile first, on a machine that is busy with other things.)
    """
    outcome = []

    def run():
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "a thread waits for ever"
    value, error = outcome[0]
    if error is not None:
        raise error
    return value
