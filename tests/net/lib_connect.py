# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TCP connections one after the other, and how they ended.

    lib_connect.py serve PORT               accepts on every address, IPv4 and IPv6
    lib_connect.py CGROUP PORT SECONDS ADDRESS...
        from within the cgroup (- : from where it is), to the addresses in turn for so long, 5 ms apart; prints JSON:
        how many were made, of these how many each way, and how many seconds it took, rounded up
"""
import errno
import json
import math
import os
import socket
import sys
import time


def serve(port):
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    print("serving", flush=True)
    while True:
        server.accept()[0].close()


def connect(address, port):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as s:
        s.settimeout(20)
        try:
            s.connect((address, port))
            return "connected"
        except socket.timeout:
            return "timeout"
        except OSError as e:
            return errno.errorcode.get(e.errno, str(e.errno))


def main(cgroup, port, seconds, *addresses):
    if cgroup != "-":
        with open(os.path.join(cgroup, "cgroup.procs"), "w") as procs:
            procs.write("0")
    ends, begin, n = {}, time.monotonic(), 0
    while not n or time.monotonic() - begin < float(seconds):
        end = connect(addresses[n % len(addresses)], port)
        ends[end] = ends.get(end, 0) + 1
        n += 1
        time.sleep(0.005)
    print(json.dumps({"n": n, "seconds": math.ceil(time.monotonic() - begin), **ends}))


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
