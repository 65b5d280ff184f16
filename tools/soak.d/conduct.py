# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""conduct.py DIR SHORT BEGIN_NS: does to kphi what the plan in DIR says, and watches it.

Runs where the observer is. SHORT is a folder for what needs a short path. KPHI and KPHI_PIN are those of
tests/net/lib.sh. Leaves in DIR
  life.N         standard output of the N-th `kphi run`: its events; life.N.err
  follow.N       what `kphi event follow` heard meanwhile
  conduct.log    a JSON object for each thing that was done or seen, `t` is CLOCK_MONOTONIC
  samples.log    memory and descriptors of each process, likewise
"""
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

from kernel import bpf_left

KPHI = [os.environ["KPHI"], "--pin", os.environ["KPHI_PIN"]]
SECOND_NS = 1_000_000_000
SAMPLE_S, SCRAPE_S, PROGRESS_S = 2, 5, 5
READY_S = 60  # in which a daemon listens that nobody kills, on however busy a machine
BUSY = "another command is at work on the store"  # and one is asked to try again
TRIES = 6


class Journal:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.lock = threading.Lock()

    def say(self, what, **more):
        with self.lock:
            self.file.write(json.dumps({"t": time.monotonic_ns(), "what": what, **more}) + "\n")


def answer(*words):
    """What a kphi command says, and its exit status."""
    done = subprocess.run([*KPHI, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def measure(pid):
    """None: it is gone. Not Pss: that also changes with who else has mapped the same maps and libraries."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            sizes = {line.split()[0]: int(line.split()[1]) for line in file if line.endswith(" kB\n")}
        return {"rss_kib": sizes["Rss:"], "own_kib": sizes["Anonymous:"], "fds": len(os.listdir(f"/proc/{pid}/fd"))}
    except (OSError, KeyError):
        return None


class Conductor:
    def __init__(self, folder, short, begin_ns):
        self.folder, self.begin_ns = folder, begin_ns
        self.yaml, self.socket, self.state = f"{short}/kphi.yaml", f"{short}/event.sock", f"{short}/state"
        self.journal = Journal(f"{folder}/conduct.log")
        self.samples = Journal(f"{folder}/samples.log")
        self.life, self.daemon, self.follower = 0, None, None
        self.recorder = int(os.environ["SOAK_RECORDER"])
        self.ended, self.ready = threading.Event(), threading.Event()
        self.reloading = threading.Lock()
        self.done = {"kill": 0, "reload": 0, "upgrade": 0}
        with open(f"{folder}/peers") as file:
            self.peers = file.read()

    # --- the configuration ---

    def configure(self, number):
        with open(f"{self.folder}/spare.{number}") as file:
            spare = file.read()
        head = (f"devices: [{{name: eth0}}]\noutputs: {{socket: {self.socket}}}\nstate: {self.state}\n"
                "web: {listen: 127.0.0.1:7441}\n"
                "consumers:\n"
                "  - {name: page, suspect: 8, clear: 4, exec: 'cat > /dev/null'}\n"
                "  - {name: low, suspect: 3, clear: 1}\n"
                "  - {name: shade, suspect: 5, shadow: yes}\n"
                "peers:\n  - interval: 1s\n    list:\n")
        with open(f"{self.yaml}.new", "w") as file:
            file.write(head + self.peers + spare)
        os.rename(f"{self.yaml}.new", self.yaml)

    def reload(self, number, names=""):
        with self.reloading:
            self.reload_alone(number, names)

    def reload_alone(self, number, names):
        begin_ns = time.monotonic_ns()
        self.configure(number)
        for name in filter(None, names.split(",")):
            self.journal.say("del", peer=name)
            status, text = answer("peer", "del", name)
            if status and "there is no peer of that name" not in text:  # one that a killed daemon never added
                self.journal.say("refused", of=f"peer del {name}", text=text)
        status, text = 0, "no daemon"
        if self.daemon.poll() is None:
            self.ready.wait(READY_S)
            status, text = 1, BUSY
            # An exchange of programs may hold the store for longer than a reload waits.
            for _ in range(TRIES):
                if status and BUSY in text:
                    status, text = answer("run", "reload", "socket", self.socket)
        self.journal.say("reload", begin=begin_ns, number=int(number), status=status, text=text.strip())

    # --- the daemon ---

    def start(self):
        self.life += 1
        self.ready.clear()
        path = f"{self.folder}/life.{self.life}"
        with open(path, "w") as out, open(f"{path}.err", "w") as err:
            self.daemon = subprocess.Popen([*KPHI, "run", "config", self.yaml], stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=err)
        self.journal.say("start", life=self.life, pid=self.daemon.pid)
        threading.Thread(target=self.follow, args=(self.life, self.daemon), daemon=True).start()

    def follow(self, life, daemon):
        """Waits for the daemon to be ready, then listens to it."""
        while daemon.poll() is None and answer("event", "socket", self.socket)[0]:
            time.sleep(0.05)
        if daemon.poll() is not None:
            return
        self.journal.say("ready", life=life)
        self.ready.set()
        with open(f"{self.folder}/follow.{life}", "w") as out:
            follower = subprocess.Popen([*KPHI, "event", "follow", "state", "socket", self.socket],
                                        stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        self.follower = follower
        follower.wait()

    def kill(self):
        self.journal.say("kill", life=self.life, alive=self.daemon.poll() is None)
        self.daemon.kill()
        self.daemon.wait()
        self.journal.say("killed", life=self.life)

    # --- what is asked ---

    def look(self, peer):
        status, text = answer("-j", "peer", "show", f"n{peer}")
        found = json.loads(text) if status == 0 else {}
        if found.get("state") == "up" and found.get("suspect_in_ns"):
            self.journal.say("look", peer=f"n{peer}", last_ns=found["last_ns"],
                             deadline_ns=found["silence_ns"] + found["suspect_in_ns"])

    def upgrade(self):
        begin_ns = time.monotonic_ns()
        status, text = answer("net", "attach", "dev", "eth0")
        self.journal.say("upgrade", begin=begin_ns, status=status, text=text.strip())

    def freeze(self, seconds):
        """It misses what comes meanwhile, and has to say so."""
        self.journal.say("freeze")
        os.kill(self.recorder, signal.SIGSTOP)
        time.sleep(int(seconds))
        os.kill(self.recorder, signal.SIGCONT)

    def sample(self):
        while not self.ended.wait(SAMPLE_S):
            pids = {"recorder": self.recorder}
            if self.daemon and self.daemon.poll() is None:
                pids["daemon"] = self.daemon.pid
                pids.update({"web": child for child in children(self.daemon.pid) if is_web(child)})
            if self.follower and self.follower.poll() is None:
                pids["follower"] = self.follower.pid
            for role, pid in pids.items():
                found = measure(pid)
                if found:
                    self.samples.say("sample", role=role, pid=pid, life=self.life, **found)

    def scrape(self):
        while not self.ended.wait(SCRAPE_S):
            begin_ns, whole, size = time.monotonic_ns(), False, 0
            try:
                connection = http.client.HTTPConnection("127.0.0.1", 7441, timeout=30)
                connection.request("GET", "/metrics")
                body = connection.getresponse().read()
                size, whole = len(body), body.endswith(b"# EOF\n")
                connection.close()
            except (OSError, http.client.HTTPException):
                pass
            self.journal.say("scrape", whole=whole, bytes=size, took_ns=time.monotonic_ns() - begin_ns)

    def progress(self, line):
        if line:
            print(f"\r\033[K{line}" if sys.stderr.isatty() else line, end="" if sys.stderr.isatty() else "\n",
                  file=sys.stderr, flush=True)

    # --- the whole ---

    def finish(self):
        status, text = answer("event", "socket", self.socket)
        now = [json.loads(line) for line in text.splitlines()] if status == 0 else []
        self.journal.say("state", status=status, suspects=sorted({e["peer"] for e in now if e["type"] == "suspect"
                                                                  and e["consumer"] == "page"}))
        self.ended.set()
        self.journal.say("ending", life=self.life, alive=self.daemon.poll() is None)
        self.daemon.send_signal(signal.SIGTERM)
        self.journal.say("ended", life=self.life, status=self.daemon.wait())

    def run(self):
        self.configure(0)
        self.start()
        for work in (self.sample, self.scrape):
            threading.Thread(target=work, daemon=True).start()
        with open(f"{self.folder}/conduct") as file:
            lines = [line.split() for line in file]
        end_s, said_s, first = int(lines[-1][0]) // 1000, 0, True
        for at_ms, verb, *words in lines:
            at_ns = self.begin_ns + int(at_ms) * 1_000_000
            while (left_s := (at_ns - time.monotonic_ns()) / SECOND_NS) > 0:
                time.sleep(min(left_s, 1))
                if time.monotonic() - said_s >= PROGRESS_S:
                    said_s = time.monotonic()
                    self.progress(self.how_far(end_s))
            if first:
                with open(f"{self.folder}/bpf.first", "w") as file:
                    json.dump(bpf_left(os.environ["KPHI_PIN"]), file)
                first = False
            self.done[verb] = self.done.get(verb, 0) + 1
            if verb in ("reload", "upgrade", "look", "freeze"):
                threading.Thread(target=getattr(self, verb), args=words).start()
            elif verb != "end":
                getattr(self, verb)()
        self.finish()
        self.progress("\n" if sys.stderr.isatty() else "")

    def how_far(self, end_s):
        at_s = max(0, (time.monotonic_ns() - self.begin_ns) // SECOND_NS)
        found = measure(self.daemon.pid) if self.daemon.poll() is None else None
        told = sum(1 for n in range(1, self.life + 1) for line in open(f"{self.folder}/life.{n}", errors="replace")
                   if line.startswith('{"type":"suspect"'))
        return (f"{at_s} of {end_s} s: {told} suspicions told, {self.done.get('reload', 0)} reloads, "
                f"{self.done.get('upgrade', 0)} upgrades, {self.done.get('kill', 0)} kills; "
                + (f"daemon {found['rss_kib'] // 1024} MiB, {found['fds']} descriptors" if found else "no daemon"))


def is_web(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return "\0web\0serve" in file.read()
    except OSError:
        return False


if __name__ == "__main__":
    Conductor(sys.argv[1], sys.argv[2], int(sys.argv[3])).run()
