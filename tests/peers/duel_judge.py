# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of how tools/duel reads logs and judges, on made-up ones: python3 tests/peers/duel_judge.py"""
import ipaddress
import math
import os
import struct
import sys
import unittest
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tools", "duel.d"), os.path.join(HERE, "..", "net")]

import distill
import figure
import judge
import table
import text
from packets import datagram, packet

MS, SECOND = 10**6, 10**9


def beats(*times_ms):
    return [(t * MS, 1, n + 1) for n, t in enumerate(times_ms)]


def every(first, last, step=50):
    return list(range(first, last, step))


def frame(source, target, protocol, payload):
    source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
    return bytes(12) + b"\x08\x00" + packet(source, target, protocol, 255, payload)


def udp(source, target, port, payload):
    return frame(source, target, 17, datagram(ipaddress.ip_address(source), ipaddress.ip_address(target), port, payload))


class Silences(unittest.TestCase):
    def test_a_steady_sender_has_none_but_after_its_end(self):
        stream = judge.Stream("beat1", beats(*every(0, 1000)))
        self.assertEqual([s[:2] for s in stream.silences], [(950 * MS, math.inf)])

    def test_nearly_the_timeout_is_one_and_much_less_is_none(self):
        self.assertEqual(len(judge.Stream("beat1", beats(0, 143)).silences), 2)
        self.assertEqual(len(judge.Stream("beat1", beats(0, 142)).silences), 1)

    def test_bfd_says_its_own_limit_in_each_packet(self):
        packets = [(0, 50 * MS, judge.UP), (400 * MS, SECOND, 1), (2400 * MS, SECOND, 1)]
        self.assertEqual([s[:2] for s in judge.Stream("frr1", packets).silences], [(0, 400 * MS), (2400 * MS, math.inf)])

    def test_a_kill_in_it_makes_it_a_death_and_one_before_or_after_does_not(self):
        packets = beats(0, 50, 1000, 1050, 1100)  # silent from 50 on
        for killed, death in ((60, True), (999, True), (-940, True), (-960, False), (1060, False)):
            stream = judge.Stream("beat1", packets, [killed * MS])
            self.assertEqual(stream.silences[0][2] is not None, death, killed)

    def test_the_note_of_a_kill_may_be_a_moment_before_the_last_packet(self):
        self.assertEqual(judge.Stream("frr1", [(200 * MS, 50 * MS, 3)], [0]).silences[0][2], 0)

    def test_the_largest_gap_is_none_of_a_death(self):
        packets = beats(*every(0, 300), *every(2000, 2200), 2260)
        self.assertEqual(judge.Stream("beat1", packets, [260 * MS]).largest_gap(0, 3 * SECOND)[0], 110 * MS)
        self.assertEqual(judge.Stream("beat1", packets).largest_gap(0, 3 * SECOND)[0], 1750 * MS)


class Verdicts(unittest.TestCase):
    def setUp(self):
        # on time; silent without a kill from 450 to 750; killed at 1000, back at 2000
        self.stream = judge.Stream("beat1", beats(*every(0, 500), *every(750, 1000), *every(2000, 3000)), [1000 * MS])

    def what(self, *times_ms):
        return [w for w, _, _ in judge.sort_out(self.stream, [(t * MS, "suspect") for t in times_ms])]

    def test_each_kind(self):
        self.assertEqual(self.what(300, 620, 1110, 1500, 2900), ["false", "justified", "found", "again", "false"])

    def test_a_verdict_may_be_late_by_the_grace_and_no_later(self):
        self.assertEqual(self.what(2400), ["found"])
        self.assertEqual(self.what(2600), ["false"])

    def test_told_and_trust_are_no_suspicions(self):
        self.assertEqual(judge.sort_out(self.stream, [(300 * MS, "told"), (320 * MS, "trust")]), [])

    def test_detection_is_from_the_last_packet(self):
        self.assertEqual(judge.deaths(self.stream, [(1110 * MS, "suspect")], 0, 2 * SECOND), [160 * MS])

    def test_who_says_nothing_has_missed_it(self):
        self.assertEqual(judge.deaths(self.stream, [], 0, 2 * SECOND), [None])
        self.assertEqual(judge.deaths(self.stream, [], 1100 * MS, 2 * SECOND), [])

    def test_who_did_not_trust_it_anyway_has_no_trial(self):
        self.assertEqual(judge.deaths(self.stream, [(800 * MS, "suspect")], 0, 2 * SECOND), [])
        self.assertEqual(judge.deaths(self.stream, [(800 * MS, "told"), (900 * MS, "trust"), (1110 * MS, "suspect")], 0, 2 * SECOND),
                         [160 * MS])

    def test_a_session_that_was_not_up_cannot_go_down(self):
        for state, trials in ((judge.UP, 1), (1, 0)):
            stream = judge.Stream("frr1", [(0, 50 * MS, state)], [10 * MS])
            self.assertEqual(len(judge.deaths(stream, [(150 * MS, "suspect")], 0, SECOND)), trials)

    def test_counts_are_of_the_time_asked_for(self):
        told = [(300 * MS, "suspect"), (620 * MS, "suspect"), (2900 * MS, "suspect")]
        self.assertEqual(judge.count(self.stream, told, 0, SECOND), (1, 1))
        self.assertEqual(judge.count(self.stream, told, 0, 3 * SECOND), (2, 1))


class Figures(unittest.TestCase):
    def test_quantiles(self):
        values = list(range(1, 101))
        self.assertEqual([judge.quantile(values, q) for q in (0.5, 0.99, 1)], [50, 99, 100])
        self.assertEqual(judge.quantile([7], 0.99), 7)
        self.assertIsNone(judge.quantile([], 0.5))

    def test_lateness_leaves_out_what_has_no_deadline_or_a_stall(self):
        verdicts = [(110, 100, 50), (210, 200, 150), (300, 0, 0), (9000, 8000, 7000)]
        self.assertEqual(judge.lateness(verdicts, [], 0, 1000), ([10, 10], 0))
        self.assertEqual(judge.lateness(verdicts, [(160, 170)], 0, 1000), ([10], 1))
        self.assertEqual(judge.lateness(verdicts, [(115, 149)], 0, 1000), ([10, 10], 0))

    def test_deviations_are_of_beats_in_a_row_that_both_have(self):
        sent = {(1, 1): 0, (1, 2): 50, (1, 3): 100, (2, 1): 300}
        stamps = {(1, 1): 1005, (1, 2): 1052, (1, 3): 1105, (2, 1): 1300, (2, 2): 1350}
        self.assertEqual(judge.deviations(stamps, sent), [3, 3])

    def test_rows_that_were_measured_twice_are_one(self):
        row = {"row": "idle", "napi": "sender", "gaps": {"beat": (5, 0)}, "jitter": {"xdp": [1]},
               "late": {"kphi": {"late": [3], "left_out": 1}},
               "detectors": {"kphi": {"false": 1, "justified": 0, "missed": 2, "times": [9], "streams": 10}}}
        other = {**row, "gaps": {"beat": (4, 0)}, "jitter": {"xdp": [0]}, "late": {"kphi": {"late": [2], "left_out": 0}},
                 "detectors": {"kphi": {"false": 2, "justified": 1, "missed": 0, "times": [8], "streams": 10}}}
        merged, = table.merge([row, other])
        self.assertEqual((merged["times"], merged["gaps"]["beat"], merged["jitter"]["xdp"]), (2, (5, 0), [0, 1]))
        self.assertEqual(merged["late"]["kphi"], {"late": [2, 3], "left_out": 1})
        self.assertEqual(merged["detectors"]["kphi"], {"false": 3, "justified": 1, "missed": 2, "times": [8, 9], "streams": 10})


class Logs(unittest.TestCase):
    WHEN = 1796026917  # 2026-11-30 08:21:57

    def test_bfdd(self):
        line = "2026/11/30 08:21:57.024733 BFD: [SEY1D-NT8EQ] state-change: [mhop:no peer:10.1.5.1 local:10.1.5.2 vrf:default ifname:duel1] "
        lines = [line + "up -> down reason:control-expired", line + "up -> down reason:neighbor-down", line + "down -> up", "else"]
        at = self.WHEN * SECOND + 24733000
        self.assertEqual(list(distill.bfdd(lines)), [("frr5", at, "suspect"), ("frr5", at, "told"), ("frr5", at, "trust")])

    def test_bird(self):
        begin = "2026-11-30 08:21:57.000001 <TRACE> links: Session to 10.2.3.1 "
        lines = [begin + "changed state from Up to Down", begin + "expired", begin + "changed state from Up to Down",
                 begin + "changed state from Init to Up"]
        self.assertEqual([kind for _, _, kind in distill.bird(lines)], ["told", "suspect", "trust"])
        self.assertEqual(next(distill.bird(lines))[:2], ("bird3", self.WHEN * SECOND + 1000))

    def test_keepalived_and_serf(self):
        lines = ["5\tkeepalived-n1.log\tMon: (v3) Entering MASTER STATE", "6\tkeepalived-n1.log\tMon: (v2) Entering MASTER STATE",
                 "7\tserf-n1.log\t [INFO] serf: EventMemberFailed: n3 10.9.0.3", "8\tserf-n1.log\t [INFO] serf: EventMemberJoin: n3 10.9.0.3"]
        self.assertEqual(list(distill.stamped(lines)), [("keepalived", "vrrp3", 5, "suspect"), ("serf", "serf3", 7, "suspect"),
                                                        ("serf", "serf3", 8, "trust")])

    def test_kphi_and_the_deadline_of_the_arrivals_before(self):
        heard = distill.arrivals(["beat1\t9\t1\t100\t250\t0", "beat1\t9\t2\t150\t300\t0", "beat1\t9\t3\t400\t550\t0"])
        event = '{"type":"suspect","peer":"%s","consumer":"%s","cause":"%s","monotonic_ns":%d}'
        lines = [event % ("beat1", "page", "silence", 310), "half a li", event % ("beat1", "gossip", "silence", 320),
                 event % ("serf2", "gossip", "silence", 330), event % ("beat1", "page", "declared_down", 340)]
        self.assertEqual(list(distill.kphi(lines, heard, 1000)), [("beat1", 1310, "suspect", 1300, 1150), ("serf2", 1330, "suspect", 0, 0)])


class Packets(unittest.TestCase):
    def test_bfd(self):
        control = struct.pack("!BBBBIIIII", 1 << 5, 3 << 6, 3, 24, 1, 2, 50000, 50000, 0)
        self.assertEqual(distill.packet(udp("10.1.4.1", "10.1.4.2", 3784, control)), ("frr4", 50 * MS, 3))
        self.assertEqual(distill.packet(udp("10.2.1.1", "10.2.1.2", 3784, control)), ("bird1", 50 * MS, 3))

    def test_beat(self):
        beat = bytes(16) + bytes.fromhex("d0e100000000400080000000000000") + b"\x07" + struct.pack("!QQ", 70, 8) + bytes(40)
        self.assertEqual(distill.packet(udp("10.9.0.2", "239.77.66.1", 7441, beat)), ("beat7", 70, 8))

    def test_vrrp_and_serf(self):
        self.assertEqual(distill.packet(frame("10.9.0.2", "224.0.0.18", 112, bytes([0x31, 52]) + bytes(10))), ("vrrp3", 0, 0))
        self.assertIsNone(distill.packet(frame("10.9.0.1", "224.0.0.18", 112, bytes([0x31, 52]) + bytes(10))))
        self.assertEqual(distill.packet(udp("10.9.0.3", "10.9.0.1", 7946, b"gossip")), ("serf3", 0, 0))
        self.assertIsNone(distill.packet(udp("10.9.0.3", "10.9.0.2", 7946, b"gossip")))


def made_up_rows():
    """Every row there is, both ways; who is wrong is so by all orders of magnitude."""
    out = []
    for n, name in enumerate(text.ROWS):
        for napi in ("sender", "thread"):
            detectors = {d[0]: {"false": 4**((n + i) % 6) - 1, "justified": 0, "missed": 0, "streams": 10,
                                "times": [150 * MS, (200 << n) * MS]} for i, d in enumerate(table.DETECTORS)}
            out.append({"row": name, "napi": napi, "note": "", "detectors": detectors, "gaps": {"beat": (51 * MS, 0), "frr": (49 * MS, 0.99)},
                        "late": {k: {"late": [MS], "left_out": 1} for k in table.LATE},
                        "jitter": {k: [10**3] * 2000 for k in table.STAMPS}})
    return out


class Picture(unittest.TestCase):
    WIDE, HIGH = 0.56, 0.8  # of a letter, as parts of the size of the font

    def boxes(self, svg):
        for t in svg.getElementsByTagName("text"):
            words, x, y = t.firstChild.data, float(t.getAttribute("x")), float(t.getAttribute("y"))
            size = 10 if "font-size:10px" in t.getAttribute("style") else 11 if "small" in t.getAttribute("class") else 12
            width = len(words) * size * self.WIDE
            x -= {"middle": width / 2, "end": width}.get(t.getAttribute("text-anchor"), 0)
            yield words, x, y - size * self.HIGH, x + width, y + size * 0.2

    def test_no_text_is_over_another_or_outside(self):
        svg = xml.dom.minidom.parseString(figure.picture(made_up_rows()))
        width, height = (float(svg.documentElement.getAttribute(k)) for k in ("width", "height"))
        boxes = list(self.boxes(svg))
        self.assertGreater(len(boxes), 50)
        for i, (words, left, top, right, bottom) in enumerate(boxes):
            self.assertTrue(0 <= left and right <= width and 0 <= top and bottom <= height, words)
            for other, l, t, r, b in boxes[i + 1:]:
                self.assertFalse(left < r and l < right and top < b and t < bottom, f"{words} | {other}")

    def test_every_row_is_in_every_table(self):
        rows, meta = made_up_rows(), {"cpus": 2, "processor": "P", "kernel": "6", "date": "today", "load_before": 0}
        page = text.page(meta, rows, table.DETECTORS)
        for row in rows:
            self.assertEqual(page.count(f"| {text.title(row)} |"), 4, text.title(row))


if __name__ == "__main__":
    unittest.main()
