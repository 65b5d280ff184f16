/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every counter of the packet path, once: the BPF program, the command line and the metrics are all made from
 * this list, so they cannot disagree. A packet that was looked at moves exactly one *outcome*; *notes* tell
 * what else an accepted beat did. UDP packets to ports that are not ours, and packets of protocols that no
 * rule asks for, move nothing: foreign traffic must cost next to nothing.
 */
#ifndef KPHI_COUNTERS_H
#define KPHI_COUNTERS_H

/* X(name, help) */
#define KPHI_OUTCOMES(X)                                                                                     \
	X(beat, "heartbeats accepted")                                                                       \
	X(leave, "leave messages accepted")                                                                  \
	X(down, "down messages accepted")                                                                    \
	X(malformed_ethernet, "VLAN tags cut short")                                                         \
	X(malformed_ipv4, "IPv4 headers cut short or with impossible lengths")                               \
	X(malformed_ipv6, "IPv6 headers or extension headers cut short")                                     \
	X(malformed_udp, "UDP headers cut short or with impossible lengths")                                 \
	X(ipv6_extensions, "IPv6 packets with more extension headers than are walked")                       \
	X(fragment, "fragments other than the first, of UDP or a rule's protocol")                           \
	X(no_rule, "packets to a rule's port or of its protocol that fit no rule")                           \
	X(rule_ttl, "packets that fit a rule but for their TTL: they have crossed a router")                 \
	X(rule_vlan, "packets that fit a rule but for their VLAN")                                           \
	X(rule_short, "packets of a rule that end before their sequence number")                             \
	X(bfd_short, "BFD packets cut short, or with a length field that cannot be right")                   \
	X(bfd_version, "BFD packets of another version than 1")                                              \
	X(bfd_multiplier, "BFD packets with a detection multiplier of 0")                                    \
	X(bfd_multipoint, "BFD packets with the reserved multipoint bit")                                    \
	X(bfd_discriminator, "BFD packets with a discriminator of 0 where there must be one")                \
	X(wire_short, "messages shorter than a heartbeat")                                                   \
	X(wire_magic, "messages that do not begin with KPHI")                                                \
	X(wire_version, "heartbeats of an unknown version")                                                  \
	X(wire_type, "heartbeats of an unknown or reserved type")                                            \
	X(wire_length, "heartbeats whose length field cannot be right")                                      \
	X(unknown_peer, "heartbeats of a node id that was never added")                                      \
	X(peer_source, "heartbeats of a peer from an address that is not one of its own")                    \
	X(peer_device, "heartbeats of a peer by another device than its own")                                \
	X(peer_ttl, "heartbeats of a peer with a lower TTL than it must have: they have crossed a router")   \
	X(not_signed, "heartbeats without a tag of a peer that has a key")                                   \
	X(unknown_key, "heartbeats signed with a key that the peer does not have, or not any more")          \
	X(bad_tag, "heartbeats whose tag is wrong: forged, or signed with another key of that number")       \
	X(stale_epoch, "messages of an epoch before the peer's current one")                                 \
	X(future_epoch, "epochs more than a day beyond this host's wall clock")                              \
	X(after_down, "messages of an epoch that was declared down")                                         \
	X(duplicate, "sequence numbers seen before")                                                         \
	X(reordered, "sequence numbers overtaken by a newer one")                                            \
	X(stale_sequence, "sequence numbers too old for the 64-wide window")                                 \
	X(internal, "lookups that can only fail if the maps do not fit the program")

#define KPHI_NOTES(X)                                                                                        \
	X(restart, "new lives: a higher epoch emptied the window")                                           \
	X(capped, "intervals above the cap: counted, not learned")                                           \
	X(retuned, "windows restarted from eight capped intervals in a row")                                 \
	X(stamp_inverted, "beats stamped before the record's last one by another CPU")                       \
	X(unlearned, "intervals not learned because this host had stalled")                                  \
	X(handover, "new speakers of a rule that names none")                                                \
	X(renegotiated, "BFD intervals that changed: a new window")                                          \
	X(unrecorded, "arrivals that came too fast for who records them")                                    \
	X(undiscovered, "heartbeats of unknown node ids that came too fast for `peer discover`")

enum kphi_counter {
#define X(name, help) KPHI_COUNT_##name,
	KPHI_OUTCOMES(X) KPHI_NOTES(X)
#undef X
		KPHI_COUNTERS,
};

/* A note as a bit, so that the recording arithmetic can return several. */
#define KPHI_NOTE(name) (1U << (KPHI_COUNT_##name - KPHI_COUNT_restart))

#endif
