"""Steps of a job that runs programs. Each step that reads the file is a process that can't start further processes.

The process that starts the steps reads only their answers. So a flaw in a decoder gives an attacker only
a single process with its memory limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

import pyvips

from . import seccomp
from .jobs import UNVERIFIED, FileRefused

LONGEST_ANSWER = 1024 * 1024


def run_program(program: str, *arguments: str) -> bytes:
    """Return the program's output. Raises FileRefused if it can't read the file, ChildProcessError if it was killed."""
    with subprocess.Popen(  # noqa: S603 - no shell, and no argument is a client's text
        (program, *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=_start_nothing_else
    ) as process:
        # A pipe was asked for, so it is there.
        answer = cast("IO[bytes]", process.stdout).read(LONGEST_ANSWER + 1)
    code = process.returncode
    if code < 0 and len(answer) <= LONGEST_ANSWER:
        raise ChildProcessError(f"{Path(program).name} was killed by signal {-code}")
    if code or len(answer) > LONGEST_ANSWER:
        raise FileRefused(UNVERIFIED)
    return answer


def _start_nothing_else() -> None:
    """Forbid new processes. Landlock allows only the programs of the job."""
    seccomp.restrict(programs=True)


# The answer is JSON of the process; the caller checks it.
def in_child_process(work: Callable[[], object]) -> Any:
    """Run `work` in a copy of this process that can start nothing, and return its result as JSON brings it back.

    Raises FileRefused when the work does, ChildProcessError when it gave no answer.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _answer(work, writer)
    os.close(writer)
    with open(reader, "rb") as answers:
        answer = answers.read(LONGEST_ANSWER)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        raise ChildProcessError(f"a decoder was killed by signal {-code}")
    if code:
        raise ChildProcessError(f"a decoder failed with exit code {code}")
    result = json.loads(answer)
    if "refused" in result:
        raise FileRefused(str(result["refused"]))
    return result["done"]


def _answer(work: Callable[[], object], writer: int) -> None:
    """Write the answer and exit. The rest of the program belongs to the waiting process."""
    code = 1
    try:
        seccomp.restrict()
        with open(writer, "w") as output:
            json.dump(_done(work), output)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _done(work: Callable[[], object]) -> dict[str, object]:
    try:
        return {"done": work()}
    except FileRefused as refusal:
        return {"refused": str(refusal)}
    except pyvips.Error as error:
        print(error, file=sys.stderr)  # noqa: T201 - the server stores the error output of a failed process
        return {"refused": UNVERIFIED}
