# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stamp.py OUT LOG...

Follows logs whose own stamps are whole seconds, and writes each line to OUT behind the Unix time (ns) at which it was there and the
name of its file, separated by tabs. It looks every 2 ms. SIGTERM ends it.
"""
import os
import signal
import sys
import time

STEP_S = 0.002


def main(out, *paths):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    paths = [path for path in paths if os.path.exists(path)]
    files = [(os.path.basename(path), open(path, encoding="utf-8", errors="replace")) for path in paths]
    rest = dict.fromkeys(paths, "")
    with open(out, "w", buffering=1, encoding="utf-8") as to:
        while not ended:
            for path, (name, file) in zip(paths, files):
                *lines, rest[path] = (rest[path] + file.read()).split("\n")
                for line in lines:
                    to.write(f"{time.time_ns()}\t{name}\t{line}\n")
            time.sleep(STEP_S)


main(*sys.argv[1:])
