"""The program as a process: its arguments, its output, its errors, and how it is interrupted."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

Progress = Callable[[str], object]


class Error(Exception):
    """What the program found wrong, in its own words.

    Attributes
    ----------
    exit_code : int
        1 failed, 2 wrong arguments or configuration, 3 data missing or invalid, 4 not a run or
        damaged, 5 refused, 6 in use by another process.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:  # a pickle has no more
        super().__init__(message)
        self.exit_code = exit_code


def program() -> str:
    """Return the file of the program that the package carries."""
    path = Path(__file__).parent / "bin" / ("train.exe" if os.name == "nt" else "train")
    if not path.exists():
        raise Error(
            f"found no program at {path}, expected the one that a wheel of dpsgd carries", 1
        )
    return str(path)


def command(*arguments: object) -> Any:
    """Carry out any command of the program that takes ``--json``.

    Parameters
    ----------
    *arguments
        What would stand behind ``dpsgd`` on a command line, such as ``"describe", "digits"``.

    Returns
    -------
    dict or list
        The result of the command, from the last line that it prints.

    Raises
    ------
    Error
        With the message of the program.
    """
    return call(arguments, None)


def call(arguments: Iterable[object], progress: Progress | None) -> Any:
    """Return the result of a command whose lines for people go to ``progress``; None drops them."""
    return results(arguments, progress)[-1]


def results(arguments: Iterable[object], progress: Progress | None) -> list[Any]:
    """Return all results of a command that prints one a line."""
    process = Process(["--json", *arguments])
    process.follow(progress)
    if process.exit_code != 0:
        raise Error(process.complaint(), process.exit_code)
    return [json.loads(answer) for answer in process.answers]


class Process:
    """The program at work on one command.

    Parameters
    ----------
    arguments
        The command and its arguments.
    questions : str
        The standard input.

    Attributes
    ----------
    answers : list of str
        The lines of standard output, complete after `follow`.
    exit_code : int
        After `follow`.
    """

    def __init__(self, arguments: Iterable[object], questions: str = "") -> None:
        # A ctrl-C in a terminal goes to all processes of its group. The program has its own, so
        # that it hears one interrupt: the one that is passed on. A second would end it unsaved.
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [program(), *map(str, arguments)],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            encoding="utf-8",
            errors="replace",  # names of files are any bytes
            **apart,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self.answers: list[str] = []
        self.exit_code = 0
        self._said: list[str] = []  # the lines of standard error
        # Lines that are not among these yet; None is the end.
        self._heard: queue.Queue[str | None] = queue.Queue()
        self._threads = [
            threading.Thread(target=_write, args=(self._process.stdin, questions), daemon=True),
            threading.Thread(
                target=_read, args=(self._process.stdout, self.answers.append), daemon=True
            ),
            threading.Thread(target=self._hear, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def follow(self, progress: Progress | None) -> None:
        """Call ``progress`` with each line of standard error until the program ends.

        The calls are made from this thread. An interrupt (ctrl-C, the stop button of a notebook) or
        an error of ``progress`` is passed on to the program, which saves what it saves; the
        exception goes on when it has ended. A second one kills it.
        """
        try:
            self._follow(progress)
        except BaseException as error:
            self._interrupt(progress if isinstance(error, KeyboardInterrupt) else None)
            raise
        finally:
            self.exit_code = self._process.wait()
            for thread in self._threads:
                thread.join()

    def complaint(self) -> str:
        """Return what the program says of its failure."""
        lines: list[str] = []
        for line in reversed(self._said):
            if not line.startswith("train: ") or line.startswith("train: WARNING"):
                break
            lines.insert(0, line[len("train: ") :])
        lines = lines or self._said[-5:] or [f"the program ended with exit code {self.exit_code}"]
        return "\n".join(lines)

    def _follow(self, progress: Progress | None) -> None:
        while True:
            try:
                line = self._heard.get(timeout=0.2)
            except queue.Empty:
                continue  # without a timeout, Windows would hear no ctrl-C here
            if line is None:
                return
            self._said.append(line)
            if progress is not None:
                progress(line)

    def _interrupt(self, progress: Progress | None) -> None:
        try:
            if sys.platform == "win32":
                self._process.send_signal(signal.CTRL_BREAK_EVENT)
            else:
                self._process.send_signal(signal.SIGINT)
            self._follow(progress)
        except BaseException:
            self._process.kill()
            raise

    def _hear(self, pipe: IO[str]) -> None:
        _read(pipe, self._heard.put)
        self._heard.put(None)


def _read(pipe: IO[str], use: Callable[[str], object]) -> None:
    with pipe:
        for line in pipe:
            use(line.rstrip("\n"))


def _write(pipe: IO[str], text: str) -> None:
    try:
        with pipe:
            pipe.write(text)
    except OSError:
        pass  # the program ended before it had read everything, and says why
