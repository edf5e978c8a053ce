"""The command ``dpsgd``, which is the program that the package carries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from ._process import program


def main() -> int:
    """Put the program in the place of this process, or wait for it where systems cannot do that."""
    arguments = [program(), *sys.argv[1:]]
    if os.name != "nt":
        os.execv(arguments[0], arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the program, which saves and ends
    return subprocess.call(arguments)


if __name__ == "__main__":
    sys.exit(main())
