// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Does anything arrive, and what becomes of it? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor/judge.h"
#include "io/format.h"

static void devices(struct findings *f, const struct traffic_facts *t)
{
	struct finding *finding;

	if (t->devices < 0) {
		finding_add(f, DOCTOR_HOST, "devices", FINDING_UNKNOWN,
			    "only root can tell on which devices kphi listens (its pinned links are root's)");
	} else if (!t->devices) {
		finding = finding_add(f, DOCTOR_HOST, "devices", FINDING_WARN,
				      "kphi listens on no device of this network namespace");
		finding_remedy(finding, "`kphi net attach dev NAME`");
	} else {
		finding = finding_add(f, DOCTOR_HOST, "devices", FINDING_OK, "kphi listens on %d here",
				      t->devices);
		finding_number(finding, "devices", (uint64_t)t->devices);
	}
}

static void ports(struct findings *f, const struct traffic_facts *t)
{
	struct finding *finding;

	if (!t->ports_known) {
		finding_add(f, DOCTOR_HOST, "ports", FINDING_UNKNOWN,
			    "only root can tell which ports are ours");
		return;
	}
	if (t->native_peers && !t->native_ports) {
		finding = finding_add(f, DOCTOR_HOST, "ports", FINDING_FAIL,
				      "there are native peers, but kphi listens on no native port");
		finding_remedy(finding,
			       "`kphi net attach dev NAME` listens on UDP 7441, or on another `port`");
	} else if (t->native_ports) {
		finding = finding_add(
			f, DOCTOR_HOST, "ports", FINDING_OK,
			"native ports: %u (the first is UDP %u), ports of rules: %u; IPv4 and IPv6 alike",
			t->native_ports, t->native_port, t->rule_ports);
	} else {
		finding = finding_add(f, DOCTOR_HOST, "ports", FINDING_OK,
				      "native ports: none, ports of rules: %u", t->rule_ports);
	}
	finding_number(finding, "native_ports", t->native_ports);
	finding_number(finding, "rule_ports", t->rule_ports);
}

static void peers(struct findings *f, const struct traffic_facts *t)
{
	struct finding *finding;

	if (!t->peers) {
		finding = finding_add(f, DOCTOR_HOST, "peers", FINDING_WARN, "no peer was added");
		finding_remedy(finding, "`kphi peer add` says whom to listen for");
	} else if (t->heard < t->peers) {
		finding = finding_add(f, DOCTOR_HOST, "peers", FINDING_WARN, "never heard: %u of %u",
				      t->peers - t->heard, t->peers);
		finding_remedy(finding, "`kphi peer show` names them, and says why");
	} else {
		finding = finding_add(f, DOCTOR_HOST, "peers", FINDING_OK, "heard: all of %u", t->peers);
	}
	finding_number(finding, "peers", t->peers);
	finding_number(finding, "heard", t->heard);
}

static void tunnels(struct findings *f, const struct traffic_facts *t)
{
	struct finding *finding;

	if (!*t->tunnels)
		return;
	finding = finding_add(
		f, DOCTOR_HOST, "tunnels", t->heard < t->peers ? FINDING_WARN : FINDING_OK,
		"beats that come through a tunnel are invisible on the device below it, and kphi does not "
		"listen on: %s",
		t->tunnels);
	finding_remedy(
		finding,
		"if a peer is behind it, attach to the tunnel's own device: `kphi net attach dev NAME`");
}

/* --- counters --- */

static uint64_t accepted(const uint64_t count[KPHI_COUNTERS])
{
	return count[KPHI_COUNT_beat] + count[KPHI_COUNT_leave] + count[KPHI_COUNT_down];
}

/* Outcomes end where the notes begin. */
static uint64_t looked_at(const uint64_t count[KPHI_COUNTERS])
{
	uint64_t sum = 0;

	for (int i = 0; i < KPHI_COUNT_restart; i++)
		sum += count[i];
	return sum;
}

static uint64_t refused(const uint64_t count[KPHI_COUNTERS])
{
	return looked_at(count) - accepted(count) - count[KPHI_COUNT_duplicate] - count[KPHI_COUNT_reordered];
}

static const char *remedy_for(int counter)
{
	switch (counter) {
	case KPHI_COUNT_no_rule:
		return "compare the source address of what arrives (`tcpdump -ni DEV udp port PORT`) with "
		       "`from` of the "
		       "peers: NAT, a second address of the sender, IPv6 instead of IPv4?";
	case KPHI_COUNT_unknown_peer:
		return "`kphi peer discover` lists who sends them, with the `kphi peer add` of each";
	case KPHI_COUNT_wire_magic:
	case KPHI_COUNT_wire_short:
		return "something else sends to a native port: choose another one with `kphi net attach dev "
		       "NAME port PORT`";
	case KPHI_COUNT_stale_epoch:
		return "the sender was reimaged, or its clock is behind: `kphi peer reset NAME` accepts it "
		       "as it is now";
	case KPHI_COUNT_future_epoch:
		return "set the clocks: the sender's, or this host's";
	case KPHI_COUNT_not_signed:
		return "`kphi peer show` names the peer (\"refused\"): start its sender with `key FILE`, "
		       "unless "
		       "somebody else speaks in its name";
	case KPHI_COUNT_unknown_key:
		return "the sender has a key that is not known here, or not any more: `kphi key show` lists "
		       "those that are, `kphi key add NAME file FILE` adds it";
	case KPHI_COUNT_bad_tag:
		return "the sender and this host have different keys of one number (`kphi key show` has "
		       "fingerprints), or somebody speaks in its name";
	case KPHI_COUNT_peer_source:
	case KPHI_COUNT_peer_device:
	case KPHI_COUNT_peer_ttl:
		return "`kphi peer show NAME` says what the peer is bound to: if that is out of date, `kphi "
		       "peer "
		       "del` and `add` it";
	default:
		return "`kphi net show` counts them all";
	}
}

static int largest_refusal(const uint64_t count[KPHI_COUNTERS])
{
	int largest = -1;

	for (int i = 0; i < KPHI_COUNT_restart; i++) {
		if (i == KPHI_COUNT_beat || i == KPHI_COUNT_leave || i == KPHI_COUNT_down ||
		    i == KPHI_COUNT_duplicate || i == KPHI_COUNT_reordered)
			continue;
		if (count[i] && (largest < 0 || count[i] > count[largest]))
			largest = i;
	}
	return largest;
}

/* What is going on now counts more than what once was. */
static void refusals(struct findings *f, const struct traffic_facts *t)
{
	static const char *const helps[] = {
#define X(name, help) help,
		KPHI_OUTCOMES(X)
#undef X
	};
	static const char *const names[] = {
#define X(name, help) #name,
		KPHI_OUTCOMES(X)
#undef X
	};
	bool now = refused(t->watched);
	int which = largest_refusal(now ? t->watched : t->total);
	struct finding *finding;

	if (which < 0) {
		finding_add(f, DOCTOR_HOST, "refused", FINDING_OK, "no packet to our ports was refused");
		return;
	}
	finding =
		finding_add(f, DOCTOR_HOST, "refused", now || !accepted(t->total) ? FINDING_WARN : FINDING_OK,
			    "%" PRIu64 " packets to our ports were refused%s; most are %s (%" PRIu64 ")",
			    now ? refused(t->watched) : refused(t->total), now ? " just now" : " so far",
			    helps[which], now ? t->watched[which] : t->total[which]);
	if (finding->status != FINDING_OK)
		finding_remedy(finding, "%s", remedy_for(which));
	finding_text(finding, "most", names[which]);
	finding_number(finding, "refused", refused(t->total));
	finding_number(finding, "refused_watched", refused(t->watched));
}

/* --- arrivals --- */

static struct finding *nothing_ever(struct findings *f, const struct traffic_facts *t)
{
	struct finding *finding =
		finding_add(f, DOCTOR_HOST, "arrivals", t->watched_ns ? FINDING_FAIL : FINDING_WARN,
			    "nothing for our ports has ever arrived%s%s",
			    t->watched_ns ? "" : ", and nobody watched for more",
			    !t->watched_ns  ? ""
			    : t->rx_packets ? ", though the devices receive other packets"
					    : ", and the devices received nothing else either");

	finding_remedy(finding, "is the sender started, and does it send to an address of this host and to "
				"our port? Is there a "
				"firewall on the way? (One on this host is behind kphi, and is not it.)");
	return finding;
}

static struct finding *nothing_now(struct findings *f, const struct traffic_facts *t)
{
	bool expected = t->least_interval_ns && t->watched_ns > 2 * t->least_interval_ns;
	char time[FORMAT_SIZE], ago[FORMAT_SIZE], interval[FORMAT_SIZE];
	struct finding *finding;

	format_duration(t->watched_ns, time);
	format_duration(t->last_beat_ago_ns, ago);
	format_duration(t->least_interval_ns, interval);
	if (!t->watched_ns || !t->heard)
		return finding_add(f, DOCTOR_HOST, "arrivals", FINDING_OK, "%" PRIu64 " beats so far%s",
				   t->total[KPHI_COUNT_beat],
				   t->watched_ns ? ", of peers that are no more" : "");
	finding = finding_add(f, DOCTOR_HOST, "arrivals", expected ? FINDING_WARN : FINDING_OK,
			      "no beat in %s; the last one came %s ago, and the quickest peer beats every %s",
			      time, ago, t->least_interval_ns ? interval : "(unknown)");
	if (expected)
		finding_remedy(
			finding,
			"`kphi peer show` judges each; `kphi guard show` says whether this host can hear");
	else
		finding_remedy(finding, "watch longer: `kphi doctor for %s`",
			       t->least_interval_ns ? interval : "10s");
	return finding;
}

static void arrivals(struct findings *f, const struct traffic_facts *t)
{
	char time[FORMAT_SIZE];
	struct finding *finding;

	if (accepted(t->watched)) {
		finding = finding_add(f, DOCTOR_HOST, "arrivals", FINDING_OK, "%" PRIu64 " beats in %s",
				      accepted(t->watched), format_duration(t->watched_ns, time));
	} else if (refused(t->watched)) {
		finding = finding_add(f, DOCTOR_HOST, "arrivals", FINDING_WARN,
				      "packets to our ports arrive, but none of them is a beat of a peer");
		finding_remedy(finding, "%s", remedy_for(largest_refusal(t->watched)));
	} else if (!looked_at(t->total)) {
		finding = nothing_ever(f, t);
	} else {
		finding = nothing_now(f, t);
	}
	finding_number(finding, "beats", accepted(t->total));
	finding_number(finding, "beats_watched", accepted(t->watched));
	finding_duration(finding, "watched_ns", t->watched_ns);
}

void judge_traffic(struct findings *f, const struct traffic_facts *t)
{
	devices(f, t);
	if (!t->readable)
		return;
	ports(f, t);
	peers(f, t);
	tunnels(f, t);
	refusals(f, t);
	if (t->devices && t->peers)
		arrivals(f, t);
}
