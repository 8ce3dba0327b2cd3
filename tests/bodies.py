"""Bodies of tests that each want a process of their own, as forks of one that has imported what all of them need.

A test file is also the script: `served()` stands where the script has imported everything, and gives each fork the words that the
test passed to `run`.
"""
from __future__ import annotations

import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 600 if os.environ.get("NUMTORCH_TEST_ALL") != "1" else 24 * 3600       # that a body may take


def search_path(script: str) -> str:
    """`PYTHONPATH` of a script among the tests: the folders that it is in, up to the package's, before this process's own."""
    root = Path(__file__).resolve().parents[1]
    folders = [str(folder) for folder in Path(script).resolve().parents if folder.is_relative_to(root)]
    return os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])


class _Server:
    """A script that has come to `served`.

    Args:
        script: its path.
        environment: variables beside this process's own, as pairs.
    """

    def __init__(self, script: str, environment: tuple) -> None:
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, script], env={**os.environ, "PYTHONPATH": search_path(script), **dict(environment)},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)

    def ask(self, words: tuple) -> tuple[int, str]:
        """The exit status of a body, and what it said."""
        self.said.seek(0)
        self.said.truncate()
        try:
            print(json.dumps(words), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline() if select.select([self.process.stdout], [], [], 2 * SECONDS)[0] else ""
        except BrokenPipeError:
            answer = ""
        if not answer:                                   # it never came to `served`
            self.process.kill()
            _server.cache_clear()
        self.said.seek(0)
        return int(answer or -1), self.said.read()


_server = functools.lru_cache(maxsize=4)(_Server)        # one that is forgotten reads the end of its input, and ends


def run(script: str, *words: str, **environment: str) -> None:
    """Fail where a body does.

    Args:
        script: the path of its file.
        words: what its fork is given.
        environment: variables of its process's.
    """
    status, said = _server(str(Path(script).resolve()), tuple(sorted(environment.items()))).ask(words)
    assert status == 0, f"{' '.join(words)} ended with {status}\n{said[-3000:]}"


def served() -> list[str]:
    """The words of a body. Returns in its process; the one that forks it answers until nobody asks any more, and ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)                                        # what bodies print is not an answer
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            answers.close()
            signal.alarm(SECONDS)                        # which ends a body that takes longer
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            return json.loads(line)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
    sys.exit()
