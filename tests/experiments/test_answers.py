"""The section of docs/cuts.md about answers."""

import pytest
from experiments.cuts import Kept

from experiments import answers


@pytest.mark.jit
def test_the_section_takes_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(answers, "COUNTS", (20, 40))
    page = tmp_path / "cuts.md"
    page.write_text(
        "# Page\n\n## Before\n\ntext\n\n## With a few answers\n\noutdated\n\n## After\n\nmore\n"
    )
    keep = tmp_path / "runs.json"
    results = answers.measure(200, 1, ["digits"], Kept(keep, "answers"))
    answers.write(results, 200, 1, page)
    assert Kept(keep, "answers").runs == results
    assert len(Kept(keep, "answers").missing("digits", 3)) == 2
    text = page.read_text()
    assert "outdated" not in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Page", "## Before", "## With a few answers", "## After",
    ]  # fmt: skip
    assert text.endswith("## After\n\nmore\n")
    row = next(line for line in text.splitlines() if line.startswith("| digits (K = 10) |"))
    assert row.count("%") == 4
