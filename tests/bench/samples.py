"""What was measured: some runs of each row, of which the table shows the median."""

from __future__ import annotations

from dataclasses import dataclass, field

# Of all cores together. When others have taken more than this, the row is marked.
MOST_FOR_OTHERS = 0.05


@dataclass(frozen=True, slots=True)
class Sample:
    """One run. CPU in milliseconds an operation, waits in milliseconds."""

    server: float
    postgres: float
    rate: float
    p50: float
    p99: float
    others: float = 0.0  # the share of all cores that other programs took meanwhile

    @property
    def together(self) -> float:
        return self.server + self.postgres


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    samples: list[Sample]
    state: str = ""  # warm or cold, where there is a difference
    remarks: list[str] = field(default_factory=list[str])

    @property
    def median(self) -> Sample:
        return sorted(self.samples, key=lambda one: one.together)[len(self.samples) // 2]

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the most CPU of an operation."""
        every = [one.together for one in self.samples]
        return min(every), max(every)

    @property
    def others(self) -> float:
        """The largest share that others took in a run."""
        return max(one.others for one in self.samples)

    @property
    def disturbed(self) -> bool:
        return is_disturbed(self.others)


def is_disturbed(others: float) -> bool:
    """True if others took too much for the figures to be trusted."""
    return others > MOST_FOR_OTHERS


@dataclass(frozen=True, slots=True)
class Value:
    """A quantity that is measured otherwise, with its unit."""

    name: str
    values: list[float]
    unit: str
    goal: str = ""
    others: float | None = None  # where time is measured

    @property
    def median(self) -> float:
        return sorted(self.values)[len(self.values) // 2]
