"""Compiled code is kept between runs, never stale, and never the cause of an error."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import perchtree
from perchtree import ClusterTree
from perchtree._kernels import (
    astar,
    beam,
    collapse,
    disk_cache,
    jit,
    linkages,
    messages,
    modes,
    rules,
    scan,
)
from perchtree._kernels.insert import no_record

pytestmark = pytest.mark.jit

# A tree of two leaves, made by hand: its kernel compiles quickly and calls one in another file.
DEPTH = """
import numpy as np
from perchtree._kernels.measure import measure_depths
from perchtree._kernels.schema import Tree
nodes = np.array([[1, -1, -1, 1, 0, 0], [-1, 0, 2, 2, -1, -1], [1, -1, -1, 1, 1, 1]], np.int32)
tree = Tree(nodes, np.zeros((2, 1), "f"), np.zeros((1, 2, 1), "f"), np.zeros((0, 0)),
            np.zeros((0, 2)), np.zeros((2, 2), np.int32), np.array([1, 2, 2, 1], np.int64))
depths = np.zeros(3, np.int32)
measure_depths(tree, depths)
print("depth", depths.max(), "hits", sum(measure_depths.stats.cache_hits.values()))
"""


def run_python(code, cache, package=None, **more):
    """Run code in a process of its own, with what it is to say about compilation."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PERCHTREE_QUIET": "", **more}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )


@pytest.fixture
def run(tmp_path):
    """Run code in a process of its own, with a copy of the package and an empty cache."""
    shutil.copytree(Path(perchtree.__file__).parent, tmp_path / "perchtree")

    def run(code):
        return run_python(code, tmp_path / "cache", tmp_path).stdout.strip()

    return run


def total(values):
    """The kernel of tests in this process: small, and not one that others have loaded."""
    total = 0
    for value in values:
        total += value
    return total


def sum_by_new_kernel():
    """Make an entry point and call it, as in a new process; return how often the cache helped."""
    kernel = jit.entry_point(total)
    assert kernel(np.arange(5)) == 10
    return sum(kernel.stats.cache_hits.values())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder for this process, in which nothing has been said yet."""
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # for a fresh import of it
    messages.warn_about_numba.cache_clear()
    messages.announce_compilation.cache_clear()
    return tmp_path


def test_an_edit_is_never_missed(run, tmp_path):
    assert run(DEPTH) == "depth 1 hits 0"
    assert run(DEPTH) == "depth 1 hits 1"
    walk = tmp_path / "perchtree" / "_kernels" / "walk.py"
    source = walk.read_text()
    edited = source.replace("child = tree.nodes[node, LEFT]", "return NONE")
    assert edited != source
    walk.write_text(edited)
    assert run(DEPTH) == "depth 0 hits 0"
    walk.write_text(source)
    assert run(DEPTH) == "depth 1 hits 1"


def kernels_within(dispatcher):
    """All kernels that a kernel calls, directly or through others."""
    found, waiting = set(), [dispatcher]
    while waiting:
        function = waiting.pop().py_func
        named = (function.__globals__.get(name) for name in function.__code__.co_names)
        new = {part for part in named if hasattr(part, "py_func")} - found
        found |= new
        waiting += new
    return found


def test_only_the_mode_in_use_is_compiled():
    """Numba compiles what the names in a kernel are bound to, and `specialise` binds them."""
    tree = ClusterTree(2, linkage="box", search="astar")
    insert = modes.insert_kernel(tree._rules, astar.astar, no_record, False)
    unused = {rules.interval_masked, rules.exactly_masked, rules.improves_ratio, beam.beam,
              collapse.collapse, scan.scan_tile, linkages.average}  # fmt: skip
    used = kernels_within(insert)
    assert used >= {rules.published_masked, rules.improves_size, astar.astar}
    assert not used & unused
    by_linkage = modes.Rules("average", True, None, None)
    assert linkages.average in kernels_within(
        modes.insert_kernel(by_linkage, astar.astar, no_record, False)
    )


def twice(number):
    return 2 * number


def test_an_inner_kernel_is_compiled_once_and_not_to_machine_code(cache):
    inner = jit.kernel(twice)

    def use(small, large):
        return inner(small[0]) + inner(large[0]) + inner(3) + inner(number=4)

    outer = jit.entry_point(use)
    assert outer(np.array([1], np.int32), np.array([2], np.int64)) == 20
    (compiled,) = inner.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


def test_a_numba_without_what_inner_kernels_need_only_takes_longer(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "perchtree._kernels.inner", None)
    with pytest.warns(RuntimeWarning, match="compiling takes longer"):
        inner = jit.kernel(twice)

    def use(small, large):
        return inner(small[0]) + inner(large[0])

    assert jit.entry_point(use)(np.array([1], np.int32), np.array([2], np.int64)) == 6
    assert len(inner.overloads) == 2


def test_a_folder_that_cannot_be_used_costs_only_speed(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    for _ in range(2):
        assert run_python(DEPTH, cache=blocked).stdout.strip() == "depth 1 hits 0"


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\x80\x04"])
def test_damaged_files_are_made_anew(cache, ending, damage):
    assert sum_by_new_kernel() == 0
    assert sum_by_new_kernel() == 1
    (file,) = cache.glob(f"total-*.{ending}")
    file.write_bytes(damage)
    assert sum_by_new_kernel() == 0
    assert sum_by_new_kernel() == 1


def test_a_full_disk_costs_only_speed(cache, monkeypatch):
    def save(*args):
        (cache / f"{disk_cache._file_stem(total)}.nbi").write_bytes(b"half an ind")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_cache.FunctionCache, "save_overload", save)
    assert sum_by_new_kernel() == 0
    assert not list(cache.iterdir())


def test_the_users_settings_are_left_alone(tmp_path):
    code = (
        "import numba; before = dict(vars(numba.config)); import perchtree.tree;"
        "print(before == dict(vars(numba.config)))"
    )
    assert run_python(code, tmp_path).stdout.strip() == "True"


class TestAnnouncement:
    LINE = "perchtree: compiling for this machine, once; some seconds ...\n"

    def test_once_per_process_also_on_a_pipe(self, tmp_path):
        code = DEPTH + "measure_depths(tree, depths.reshape(3, 1)[:, 0])"
        code += "\nfrom perchtree._kernels.jit import entry_point; entry_point(abs_of)(1)"
        code = "def abs_of(x): return x if x > 0 else -x\n" + code
        first, second = (run_python(code, tmp_path) for _ in range(2))
        assert first.stderr == self.LINE
        assert second.stderr == ""

    def test_can_be_turned_off(self, cache, monkeypatch, capsys):
        monkeypatch.setenv("PERCHTREE_QUIET", "1")
        assert sum_by_new_kernel() == 0
        assert capsys.readouterr().err == ""

    def test_kernels_that_were_kept_say_nothing(self, cache, monkeypatch, capsys):
        monkeypatch.setenv("PERCHTREE_QUIET", "")
        assert sum_by_new_kernel() == 0
        assert capsys.readouterr().err == self.LINE
        messages.announce_compilation.cache_clear()
        assert sum_by_new_kernel() == 1
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("stream", [None, "closed"])
    def test_needs_nobody_who_listens(self, cache, monkeypatch, stream):
        monkeypatch.setenv("PERCHTREE_QUIET", "")
        if stream == "closed":
            stream = io.StringIO()
            stream.close()
        monkeypatch.setattr(sys, "stderr", stream)
        assert sum_by_new_kernel() == 0


class TestAnotherNumba:
    """Where private interfaces are missing, everything works, with one line that says so."""

    WARNING = (
        rf"does not fit Numba {numba.__version__} \(.*\): compiled code is not kept, .*; "
        r"install a newer perchtree, or Numba"
    )

    @pytest.mark.parametrize("name", ["_CacheLocator", "CompileResultCacheImpl", "FunctionCache"])
    def test_without_a_class(self, cache, monkeypatch, name):
        monkeypatch.delattr(numba.core.caching, name)
        monkeypatch.delitem(sys.modules, "perchtree._kernels.disk_cache")
        with pytest.warns(RuntimeWarning, match=self.WARNING) as caught:
            assert [sum_by_new_kernel(), sum_by_new_kernel()] == [0, 0]
        assert len(caught) == 1
        assert name in str(caught[0].message)
        assert "\n" not in str(caught[0].message)

    def test_without_a_place_for_caches(self, cache):
        dispatcher = SimpleNamespace(py_func=total)
        with pytest.warns(RuntimeWarning, match=self.WARNING):
            jit._keep_on_disk(dispatcher)
        assert vars(dispatcher) == {"py_func": total}

    def test_with_another_constructor(self, cache, monkeypatch):
        monkeypatch.setattr(disk_cache.FunctionCache, "__init__", lambda self, *, source: None)
        with pytest.warns(RuntimeWarning, match=self.WARNING):
            assert sum_by_new_kernel() == 0

    @pytest.mark.parametrize("name", ["_impl", "_cache_file"])
    def test_with_other_attributes(self, cache, monkeypatch, name):
        monkeypatch.setattr(
            disk_cache.FunctionCache, name, property(lambda self: self.gone, lambda *_: None),
            raising=False,
        )  # fmt: skip
        with pytest.warns(RuntimeWarning, match=self.WARNING):
            assert sum_by_new_kernel() == 0

    def test_without_the_option_for_reference_counting(self, tmp_path):
        code = "from numba.core import cpu; del cpu._options_mixin._nrt" + DEPTH
        result = run_python(code, tmp_path, PERCHTREE_QUIET="1")
        assert result.stdout.strip() == "depth 1 hits 0"
        assert result.stderr.count("RuntimeWarning: perchtree does not fit Numba") == 1
        assert "(it has no option _nrt): searches take about half as long again" in result.stderr
