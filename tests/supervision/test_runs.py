"""The mark of a run: the next start of the same node learns how the run before ended."""

from pathlib import Path

from troupe.supervision.system.runs import begin_run, end_run


def test_a_node_that_ended_badly_is_noticed_at_its_next_start_alone(tmp_path: Path) -> None:
    assert begin_run(tmp_path, "one") == ""
    assert begin_run(tmp_path, "two") == ""
    assert "process" in begin_run(tmp_path, "one")
    end_run(tmp_path, "one")
    assert begin_run(tmp_path, "one") == ""
    assert "process" in begin_run(tmp_path, "two")
