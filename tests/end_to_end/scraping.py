"""Reading the metrics of a running server as Prometheus does, and checking them with its own program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from .. import plain_http
from .server import Server, free_port

PROMTOOL = shutil.which("promtool") or str(Path(__file__).parents[2] / ".venv" / "bin" / "promtool")

Labels = frozenset[tuple[str, str]]


class Scraped(dict[tuple[str, Labels], float]):
    """The samples of one scrape, by name and labels."""

    def of(self, name: str, **labels: str) -> float:
        """Return the sum of the samples with a name that have these labels among theirs."""
        return sum(value for (known, of), value in self.items() if known == name and labels.items() <= {*of})

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self}


def with_metrics(server: Server) -> str:
    """Have a server that is not yet started tell metrics. Return their address."""
    port = free_port()
    server.settings["TROUPE_METRICS"] = f"127.0.0.1:{port}"
    return f"http://127.0.0.1:{port}"


def text_at(address: str) -> str:
    answer = plain_http.get(f"{address}/metrics", timeout=30)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return answer.text


def scrape(address: str) -> Scraped:
    families = text_string_to_metric_families(text_at(address))
    return Scraped(
        {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}
    )


def promtool(*words: str, text: str | None = None) -> None:
    """Run promtool, which must find nothing wrong."""
    done = subprocess.run([PROMTOOL, *words], input=text, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
