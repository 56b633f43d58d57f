"""The simulation kit: its general half imports nothing of the product or of the other half, and needs no pytest."""

import ast
import subprocess
import sys
from pathlib import Path

KIT = Path(__file__).parents[2] / "supervision" / "testing"
GENERAL = sorted(KIT.glob("*.py"))

BLOCKED = """
import sys
sys.modules["pytest"] = None
from troupe.supervision.testing import Run, Series, bare, simulation

async def scenario(run: Run) -> None:
    run.note("runs")

series = Series(scenario, bare)
assert series.play_all(range(3), ["random", "pct"]) is None
simulation(seeds=1)(scenario)()
product = [name for name in sys.modules if name.startswith(("troupe.storage", "troupe.actors", "troupe.http"))]
assert product == [], product
"""


def test_the_general_half_imports_only_itself() -> None:
    outside = [
        f"{module.name}:{node.lineno}"
        for module in GENERAL
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.level > 1 or (node.level == 1 and node.module == "stage"))
    ]
    assert outside == []


def test_the_general_half_runs_where_pytest_is_not_installed() -> None:
    run = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
