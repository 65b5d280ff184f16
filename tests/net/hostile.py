# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
hostile.py ADDRESS PORT SECONDS: clients that an HTTP server would rather not have, a thousand at once; whoever is
sent away comes back. Prints what was seen, one JSON object: for each kind, how many connections it made, how many of
them the server ended, and how often it answered with which status.
"""
import collections
import json
import resource
import selectors
import socket
import sys
import time

HEAD = b"Host: localhost\r\n"
REQUEST = b"GET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n"

# Kind: how many; what is sent at once; what of it a second (None: all); bytes read a second (None: all that come).
KINDS = {
    "dripping": (300, b"GET /healthz HTTP/1.1\r\n" + HEAD + b"X: " + b"a" * 1000, 1, None),
    "half_open": (200, b"GET /healthz HT", None, None),
    "silent": (150, b"", None, None),
    "dripping_body": (50, b"POST /api/v1/phi HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000\r\n\r\n" + b" " * 1000, 1, None),
    "huge_headers": (50, b"GET /healthz HTTP/1.1\r\n" + HEAD + b"X: " + b"a" * (1 << 20) + b"\r\n\r\n", None, None),
    "junk": (50, bytes(range(1, 256)) * 200, None, None),
    "pipelined": (50, REQUEST * 50 + b"\0\r\n" * 50, None, None),
    "slow_reader": (100, b"GET /api/v1/peers HTTP/1.1\r\n" + HEAD + b"\r\n", None, 1),
    "deaf_stream": (50, b"GET /api/v1/stream HTTP/1.1\r\n" + HEAD + b"\r\n", None, 0),
}


class Client:
    def __init__(self, kind, address):
        self.kind, self.address = kind, address
        _, self.left, self.send_rate, self.read_rate = KINDS[kind]
        self.seen = b""
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if self.read_rate is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.socket.connect_ex(address)

    def send(self, limit=None):
        if self.left:
            self.left = self.left[self.socket.send(self.left[:limit]):]

    def read(self, limit=1 << 16):
        """False: the server has ended the connection."""
        got = self.socket.recv(limit)
        self.seen += got[: 64 - len(self.seen)]
        return bool(got)

    def status(self):
        words = self.seen.split(None, 2)
        return words[1].decode() if len(words) > 1 and words[0].startswith(b"HTTP/") else None


def main(address, port, seconds):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    selector = selectors.DefaultSelector()
    made, ended, statuses = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
    again = []  # (when, kind): come back, but not in a storm of our own making

    def watch(client):
        events = selectors.EVENT_READ if client.read_rate is None else 0
        if client.send_rate is None and client.left:
            events |= selectors.EVENT_WRITE
        try:
            selector.unregister(client.socket)
        except KeyError:
            pass
        if events:
            selector.register(client.socket, events, client)

    def enter(kind):
        client = Client(kind, (address, port))
        made[kind] += 1
        clients.add(client)
        watch(client)

    def leave(client, by_server):
        ended[client.kind] += by_server
        if client.status():
            statuses[client.kind][client.status()] += 1
        try:
            selector.unregister(client.socket)
        except KeyError:
            pass
        client.socket.close()
        clients.discard(client)
        if by_server:
            again.append((time.monotonic() + 0.5, client.kind))

    def attempt(client, action):
        try:
            if action() is False:
                leave(client, True)
        except BlockingIOError:
            pass
        except OSError:
            leave(client, True)

    clients = set()
    for kind, (count, *_) in KINDS.items():
        for _ in range(count):
            enter(kind)
    end = time.monotonic() + seconds
    second = time.monotonic()
    while time.monotonic() < end:
        for key, events in selector.select(0.1):
            client = key.data
            if events & selectors.EVENT_WRITE:
                attempt(client, client.send)
                if client in clients and not client.left:
                    watch(client)
            if events & selectors.EVENT_READ and client in clients:
                attempt(client, client.read)
        now = time.monotonic()
        while again and again[0][0] <= now:
            enter(again.pop(0)[1])
        if now < second + 1:
            continue
        second = now
        for client in list(clients):
            if client.send_rate:
                attempt(client, lambda c=client: c.send(c.send_rate))
            elif client.left:
                attempt(client, client.send)
            if client.read_rate and client in clients:
                attempt(client, lambda c=client: c.read(c.read_rate))
    for client in list(clients):
        leave(client, False)
    print(json.dumps({kind: {"made": made[kind], "ended": ended[kind], "statuses": statuses[kind]} for kind in KINDS}))


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
