"""The output of the log, and its form: as the settings say, or as standard output is connected."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ...actors.configuration import LogSettings
from ...actors.kernel import SystemClock
from ...storage.engine.data_folder import make_private
from .console import Terminal, as_text, columns_of, shows_colours
from .file import MIB, LogFile
from .journal import Journal, is_standard_output
from .log import Form, SupervisionLog, as_json
from .vocabulary import Level
from .writer import LogStream, Output, Writer, hold_standard_streams

STDOUT = 1


@dataclass(frozen=True, slots=True)
class OpenLog:
    """The log of a server with the thread that writes it."""

    log: SupervisionLog
    writer: Writer

    def close(self) -> None:
        """Write the folded and queued records, and nothing after them."""
        self.log.close()
        self.writer.close()


def open_log(settings: LogSettings) -> OpenLog:
    """Open the log that the settings name. Raises OSError if its file or the journal can't be opened."""
    hold_standard_streams()
    output = _output(settings, os.environ)
    writer = Writer(output)
    level = Level[settings.log_level.upper()]
    log = SupervisionLog(writer.write, SystemClock(), _form(settings, output), level, lost=writer.take_lost)
    return OpenLog(log, writer)


def _output(settings: LogSettings, environ: Mapping[str, str]) -> Output:
    if settings.log_to == "file":
        if settings.log_file is None:
            make_private(settings.data)  # at the first start there is no folder for it yet
        return LogFile(settings.log_path, settings.log_file_size * MIB, settings.log_files)
    if settings.log_to == "journal" or (settings.log_to == "auto" and is_standard_output(STDOUT, environ)):
        return Journal()
    return LogStream(STDOUT)


def _form(settings: LogSettings, output: Output) -> Form:
    if isinstance(output, Journal):
        return as_json  # the journal makes its entries of it
    terminal = isinstance(output, LogStream) and os.isatty(STDOUT)
    if settings.log_format == "json" or (settings.log_format == "auto" and not terminal):
        return as_json
    return Terminal(columns_of(STDOUT), colour=shows_colours(os.environ)) if terminal else as_text
