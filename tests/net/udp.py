# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The ends of a cable under test.

send ADDRESS PORT COUNT GAP_MS   numbered datagrams that carry the time of sending
receive ADDRESS PORT             a line `number latency_us` for each, until SIGTERM and silence
serve|fetch ADDRESS PORT         a million bytes over TCP; fetch prints how many came unharmed
"""
import signal
import socket
import struct
import sys
import time

FORMAT = struct.Struct("!QQ")
QUIET_S = 0.2
SO_RCVBUFFORCE = 33
PAYLOAD = bytes(range(250)) * 4000


def make_socket(address, kind):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def send(address, port, count, gap_ms):
    out = make_socket(address, socket.SOCK_DGRAM)
    begin = time.monotonic_ns()
    for number in range(1, int(count) + 1):
        due = begin + int(number * float(gap_ms) * 1e6)
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        out.sendto(FORMAT.pack(number, time.monotonic_ns()), (address, int(port)))


def receive(address, port):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    inlet = make_socket(address, socket.SOCK_DGRAM)
    inlet.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    inlet.settimeout(QUIET_S)
    inlet.bind((address, int(port)))
    while True:
        try:
            datagram = inlet.recv(2048)
        except socket.timeout:
            if ended:
                break
            continue
        number, sent_ns = FORMAT.unpack(datagram)
        print(number, (time.monotonic_ns() - sent_ns) // 1000)


def serve(address, port):
    listener = make_socket(address, socket.SOCK_STREAM)
    listener.bind((address, int(port)))
    listener.listen()
    connection, _ = listener.accept()
    connection.sendall(PAYLOAD)
    connection.close()


def fetch(address, port):
    connection = make_socket(address, socket.SOCK_STREAM)
    connection.connect((address, int(port)))
    received = b""
    while chunk := connection.recv(1 << 16):
        received += chunk
    print(len(received) if received == PAYLOAD else "different bytes")


if __name__ == "__main__":
    {"send": send, "receive": receive, "serve": serve, "fetch": fetch}[sys.argv[1]](*sys.argv[2:])
