# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""kernel.py: what the kernel holds of the store that is pinned at KPHI_PIN, as JSON."""
import glob
import json
import os
import subprocess


def show(*words):
    done = subprocess.run(["bpftool", "-j", *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout or "[]") if done.returncode == 0 else []


def bpf_left(pin):
    """Programs that use a map of this store, their links, and all maps that they use: nothing of other stores."""
    store = {show("map", "show", "pinned", path).get("id") for path in glob.glob(f"{pin}/abi-*/records")}
    programs = [p for p in show("prog", "show") if store & set(p.get("map_ids", []))]
    ids = {p["id"] for p in programs}
    return {"programs": sorted(p["name"] for p in programs),
            "links": sum(link.get("prog_id") in ids for link in show("link", "show")),
            "maps": len({one for p in programs for one in p["map_ids"]})}


if __name__ == "__main__":
    print(json.dumps(bpf_left(os.environ["KPHI_PIN"])))
