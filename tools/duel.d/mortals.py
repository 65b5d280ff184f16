# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""mortals.py KPHI DIR GROUP N KILLS

Keeps N senders of native beats alive, each a process of its own, and kills some when told to:

    SIGUSR1   they die and return, one by one, at random moments
    SIGHUP    all die now, and stay dead
    SIGUSR2   all live (as at the start)

A death is a SIGKILL. The file KILLS gets a line for each: Unix time in ns, name. SIGTERM ends them all.
"""
import os
import random
import signal
import subprocess
import sys
import time

INTERVAL, LIFE_S, DEATH_S = "50ms", (1.2, 1.8), 1.0
STEP_S = 0.01
SEED = 20240229


class Mortal:
    def __init__(self, kphi, folder, group, number):
        self.name = f"beat{number}"
        uuid = f"d0e10000-0000-4000-8000-{number:012d}"
        self.command = [kphi, "beat", "to", group, "interval", INTERVAL, "id", uuid, "state", f"{folder}/epoch-{number}",
                        "priority", "0"]
        self.process, self.turn = None, 0.0

    def live(self):
        if not self.process:
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)

    def die(self, kills):
        if self.process:
            self.process.kill()
            kills.write(f"{time.time_ns()}\t{self.name}\n")
            self.process.wait()
            self.process = None


def main(kphi, folder, group, number, path):
    mode = ["live"]
    for what, to in ((signal.SIGUSR1, "mortal"), (signal.SIGHUP, "dead"), (signal.SIGUSR2, "live"), (signal.SIGTERM, "end")):
        signal.signal(what, lambda *_, to=to: mode.append(to))
    os.sched_setaffinity(0, {0})
    random.seed(SEED)
    mortals = [Mortal(kphi, folder, group, n + 1) for n in range(int(number))]
    with open(path, "a", buffering=1, encoding="ascii") as kills:
        for mortal in mortals:
            mortal.live()
            time.sleep(random.uniform(0, 0.02))  # not in step with each other
        while mode[-1] != "end":
            step(mortals, mode, kills)
            for mortal in mortals:
                if mortal.process and mortal.process.poll() is not None:
                    sys.exit(f"{mortal.name} ended by itself")
            time.sleep(STEP_S)
    for mortal in mortals:
        if mortal.process:
            mortal.process.terminate()
            mortal.process.wait()


def step(mortals, mode, kills):
    now = time.monotonic()
    wish = mode[-1]
    for mortal in mortals:
        if wish == "live":
            mortal.live()
            mortal.turn = now + random.uniform(0, LIFE_S[1])
        elif wish == "dead":
            mortal.die(kills)
        elif wish == "mortal" and now >= mortal.turn:
            if mortal.process:
                mortal.die(kills)
                mortal.turn = now + DEATH_S
            else:
                mortal.live()
                mortal.turn = now + random.uniform(*LIFE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
