"""The frame of a server process: its log, its signals and its exit code, and the text that an operator reads.

It is apart from `process.py`, so that the parent of several processes does not import what a server is made of.
"""

from __future__ import annotations

import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from ..actors.configuration import ServerSettings, Settings
from ..storage.engine.database import Fenced
from .failures import FAILED, explained
from .log.log import SupervisionLog, route_libraries
from .log.output import open_log
from .log.writer import announce
from .system.signals import EndSignals


def run_logged(settings: Settings, run: Callable[[Settings, SupervisionLog, EndSignals], int]) -> int:
    """Call `run` with the log and the signals of a server process. Return its exit code, or that of its error."""
    opened = open_log(settings)
    log = opened.log
    route_libraries(log)
    signals = EndSignals()
    with signals.handled():
        try:
            code = run(settings, log, signals)
            log.flush()  # no record is written after the last one
            if code == 0:
                log.record("shutdown.done")
            return code
        except (Exception, BaseExceptionGroup) as error:
            return _explain(error, log)
        finally:
            opened.close()


def _explain(error: BaseException, log: SupervisionLog) -> int:
    """Print why the server ends, on a line, and return the exit code. The decisions of supervision are in the log."""
    failure = explained(error)
    if failure is None:
        announce("".join(traceback.format_exception(error)))
        return FAILED
    if isinstance(failure.error, Fenced):
        log.record("node.fenced", error=str(failure.error), decision="exit")
    announce(f"troupe: {failure.message}")
    return failure.exit_code


def greeting(settings: ServerSettings, *, has_accounts: bool) -> str:
    """Return where the server listens and, as long as there is no account, the command that makes the first account."""
    where = f"Troupe is at {settings.base_url} (listening on {settings.listening}; data in {settings.data}).\n"
    if has_accounts:
        return where
    folder = "" if settings.data == Path("data").absolute() else f" --data {settings.data}"
    config = f" --config {chosen}" if (chosen := _config()) else ""
    return (
        f"{where}The first account, from another terminal:\n"
        f"  {_called()} accounts create NAME --email E --password P --role owner --confirmed --approved"
        f"{config}{folder}\n"
    )


def _called() -> str:
    """Return the command that calls this program again: its name if the shell finds it, else its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and called.exists() and called.samefile(found) else str(called)


def _config() -> str:
    """Return the file that was chosen on the command line: it may name the database. Nothing if none was."""
    words = iter(sys.argv)
    for word in words:
        if word.startswith("--config"):
            return word.partition("=")[2] or next(words, "")
    return ""
