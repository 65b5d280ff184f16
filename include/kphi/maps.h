/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pinned maps: names, keys, values. This page is the ABI: a hash over it names the folder in which the
 * maps are pinned, so a binary never opens maps of another layout. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 *   map       elements        one element                             written by
 *   store     1, mmap         struct kphi_store                       the loader, once
 *   peers     peers, mmap     struct kphi_peer: what was configured   control program, under `locks`
 *   rules     peers, mmap     struct kphi_rule: how it is recognised  control program, under `locks`
 *   records   peers, mmap     struct kphi_record: what was heard      packets and control, under `locks`
 *   windows   peers, mmap     uint64_t[window + 8]: ring of intervals packets and control, under `locks`
 *   locks     peers           struct kphi_lock                        packets and control
 *   ids       peers, a hash   struct kphi_id -> struct kphi_slot      control program
 *   seals     peers, mmap     struct kphi_seal: what was refused      packets
 *   rings     KPHI_RINGS,mmap struct kphi_ring: names of keys         control program
 *   keys      KPHI_RINGS      struct kphi_keys: the keys, root's only control program
 *   ports     1, a global     struct kphi_ports                       control program
 *   counters  CPUs, mmap      struct kphi_counters                    packets, each CPU its own
 *   ticks     CPUs, mmap      struct kphi_tick                        the guard's ticks, each CPU its own
 *   hints     a ring buffer   struct kphi_hint: look there            packets
 *   arrivals  a ring buffer   struct kphi_arrival, while one records  packets and control
 *   strangers a ring buffer   struct kphi_stranger, while one asks    packets
 *   verdicts  peers, mmap     struct kphi_verdict: what is thought    control program, as the daemon asks
 *   daemon    1               struct kphi_daemon: of itself           the daemon
 */
#ifndef KPHI_MAPS_H
#define KPHI_MAPS_H

#include "counters.h"
#include "types.h"

#define KPHI_PEERS_DEFAULT  1024
#define KPHI_PEERS_MAX      (1U << 20)
#define KPHI_WINDOW_DEFAULT 1000
#define KPHI_WINDOW_MIN     8
#define KPHI_WINDOW_MAX     4096 /* with KPHI_INTERVAL_MAX_NS: n * sum(x^2) < 2^118 */

#define KPHI_INTERVAL_MAX_NS (1ULL << 47) /* 39 h: longer intervals are recorded as this long */
#define KPHI_CAP_INTERVALS   10 /* the cap is this many intervals unless set */
#define KPHI_RETUNE_RUN      8 /* so many capped intervals in a row restart the window from themselves */
#define KPHI_LEARN_RUN       8 /* a peer without a configured interval learns it from so many */
#define KPHI_MIN_STD_SHARE   10 /* the least standard deviation is this part of the interval unless set */
#define KPHI_CLEAN_MIN_NS    100000000ULL /* how long after a stall, at least, nothing is learned */

#define KPHI_NAME_SIZE 64 /* with the terminating zero */

enum kphi_store_flag {
	KPHI_STORE_KEYED = 1 << 0, /* every native peer must have a key */
};

struct kphi_store {
	uint32_t peers; /* capacity */
	uint32_t window; /* intervals kept per peer */
	uint32_t cpus; /* elements of `counters` and `ticks` */
	uint32_t flags; /* enum kphi_store_flag, or'ed */
	uint64_t created_ns;
	uint8_t unused[40];
};

/* An identity: what a packet shows that tells whose beat it is. */
enum kphi_id_kind {
	KPHI_ID_NATIVE = 1, /* bytes: the node id */
	KPHI_ID_RULE = 2, /* what the packet has where its shape looks; what the shape ignores is zero */
};

#define KPHI_MATCHES 2 /* parts of the payload that a rule may ask for */

struct kphi_id {
	uint8_t kind; /* enum kphi_id_kind */
	uint8_t protocol; /* rule: IP protocol number */
	uint16_t port; /* rule: destination port in host order; 0 for what has no ports */
	uint32_t device; /* rule: ifindex, if it asks for one */
	uint8_t shape; /* rule: 1 .. KPHI_SHAPES */
	uint8_t reserved[7];
	uint8_t bytes[16]; /* native: node id; rule: source address, IPv4 as ::ffff:a.b.c.d */
	uint64_t match[KPHI_MATCHES]; /* rule: the payload under the shape's masks */
};

struct kphi_slot {
	uint32_t slot;
	uint32_t generation; /* the record's when the identity was added */
};

/* Bytes of a payload, as a number of `width` bytes in network order. */
struct kphi_match {
	uint64_t value, mask; /* value has no bit outside mask */
	uint16_t offset; /* from the first byte behind the UDP header, or behind the IP header */
	uint8_t width; /* 1 to 8; 0: there is no match */
	uint8_t reserved[5];
};

/*
 * Where the rules of a kind look: rules that look at the same places are one shape, and cost one look-up
 * however many they are. A packet that fits rules of several shapes is the beat of the one that asks for
 * most: device before source before the number of bits; of two that ask for as much, the one with the lower
 * number.
 */
#define KPHI_SHAPES 15

enum kphi_shape_flag {
	KPHI_SHAPE_SOURCE = 1 << 0,
	KPHI_SHAPE_DEVICE = 1 << 1,
};

struct kphi_shape {
	uint64_t mask[KPHI_MATCHES];
	uint16_t offset[KPHI_MATCHES];
	uint8_t width[KPHI_MATCHES]; /* 0: that match is not asked for */
	uint8_t flags; /* enum kphi_shape_flag, or'ed */
	uint8_t bits; /* set in the masks together */
};

/* How much it asks for. */
KPHI_INLINE uint32_t kphi_shape_rank(const struct kphi_shape *s)
{
	return (uint32_t)s->flags << 8 | s->bits;
}

/* What else of a packet counts for a rule, once its identity is found. */
enum kphi_decoder {
	KPHI_DECODER_NONE = 0,
	KPHI_DECODER_BFD = 1, /* RFC 5880 control packets: bfd.h */
};

#define KPHI_DEVICE_SIZE 16 /* IFNAMSIZ */
#define KPHI_SOURCES     4 /* addresses that a native peer may be bound to */

/* How it is recognised; of a native peer, by what else than its id: see enum kphi_demand. */
struct kphi_rule {
	union {
		struct {
			struct kphi_match match[KPHI_MATCHES];
			struct kphi_match leave; /* a packet that has this says goodbye */
		};
		uint64_t source[KPHI_SOURCES][2]; /* native: 16 bytes each, as in the identity of a rule */
	};
	uint64_t local_rx_ns; /* BFD: this host's required minimum receive interval; 0: not known */
	uint16_t sequence_offset;
	uint8_t sequence_bits; /* 8, 16, 32 or 64; 0: packets have no sequence number */
	uint8_t sequence_little; /* 1: the least significant byte comes first */
	uint16_t vlan; /* 1 to 4094, against the outermost tag that is visible; 0: any or none */
	uint8_t min_ttl; /* IPv4 TTL or IPv6 hop limit, at least */
	uint8_t decoder; /* enum kphi_decoder */
	uint8_t any_source; /* the speaker may change: a handover, not another peer */
	uint8_t preset; /* user space's: under which word it was added */
	uint8_t sources; /* native: so many of them */
	uint8_t unused;
	uint32_t ifindex; /* native: of `device` */
	uint8_t reserved[16];
	char device[KPHI_DEVICE_SIZE]; /* name behind the identity's ifindex; may be empty */
};

enum kphi_model {
	KPHI_MODEL_NORMAL = 0,
	KPHI_MODEL_AKKA = 1,
	KPHI_MODEL_EXPONENTIAL = 2,
	KPHI_MODEL_LOSS = 3,
	KPHI_MODEL_EMPIRICAL = 4,
	KPHI_MODELS,
};

/* Which settings were given; the others follow the interval in force. */
enum kphi_peer_set {
	KPHI_SET_MIN_STD = 1 << 0,
	KPHI_SET_PAUSE = 1 << 1,
};

/* What a native message must show besides the peer's id. */
enum kphi_demand {
	KPHI_DEMAND_KEY = 1 << 0, /* a tag made with a key of the peer's ring */
	KPHI_DEMAND_SOURCE = 1 << 1, /* one of the rule's sources */
	KPHI_DEMAND_DEVICE = 1 << 2, /* the rule's device */
	KPHI_DEMAND_TTL = 1 << 3, /* the rule's min_ttl */
};

struct kphi_peer {
	char name[KPHI_NAME_SIZE];
	char host[KPHI_NAME_SIZE]; /* label that groups several streams of one host; may be empty */
	struct kphi_id id;
	uint64_t added_ns;
	uint64_t interval_ns; /* 0: learn it */
	uint64_t min_std_ns; /* floor of the standard deviation, if KPHI_SET_MIN_STD */
	uint64_t pause_ns; /* acceptable pause on top of the mean, if KPHI_SET_PAUSE */
	uint64_t max_interval_ns; /* cap; 0: KPHI_CAP_INTERVALS * interval */
	uint8_t model; /* enum kphi_model */
	uint8_t set; /* enum kphi_peer_set, or'ed */
	uint8_t watched; /* somebody waits for its next beat */
	uint8_t demands; /* enum kphi_demand, or'ed */
	uint16_t ring; /* KPHI_DEMAND_KEY: index into `rings` and `keys` */
	uint8_t unused[2];
	uint64_t mute_until_ns; /* maintenance: no verdicts before */
	char mute_reason[48];
};

/*
 * A ring entry: an interval in nanoseconds, and above it how many steps of the sequence it spans. 1: nothing
 * was lost in it; 0: it is not known.
 */
#define KPHI_RING_STEPS_SHIFT 48
#define KPHI_RING_NS          ((1ULL << KPHI_RING_STEPS_SHIFT) - 1)
#define KPHI_STEPS_MAX        0xffff

/* Entries of a peer's ring for a window of so many intervals: behind them the capped ones of the present run.
 */
#define KPHI_RING_SIZE(window) ((window) + KPHI_RETUNE_RUN)

#define KPHI_LOSS_MEMORY      4096 /* intervals after which what was lost counts half, and ... */
#define KPHI_LOSS_MEMORY_LONG 65536 /* ... for the long memory */

/* What is lost on the way, with memories that fade: losses are too rare to be learned from one window. */
struct kphi_losses {
	uint32_t beats; /* intervals whose steps are known */
	uint32_t runs; /* of those, the ones in which beats were lost */
	uint32_t lost; /* beats lost in them, together */
	uint32_t lost_long; /* beats lost, in the long memory, and ... */
	uint32_t beats_long; /* ... intervals since it last faded */
	uint32_t reserved;
};

/* The last W intervals of one life. The ring itself is the peer's element of `windows`. */
struct kphi_window {
	uint32_t n; /* intervals held */
	uint32_t next; /* where in the ring the next one goes */
	uint64_t sum_ns;
	uint64_t squares_high, squares_low; /* sum of the squared intervals, ns^2, 128 bits */
	uint64_t clean_sum_ns; /* this and the next two: of the intervals of one step alone */
	uint64_t clean_squares_high, clean_squares_low;
	uint32_t clean_n;
	uint32_t capped_run;
	uint64_t interval_ns; /* in force: configured, learned or retuned; 0 while learning */
	uint64_t cap_ns; /* in force */
	struct kphi_losses losses;
};

/* Sequence numbers of one life: the highest, and which of the 64 up to it were seen. */
struct kphi_sequence {
	uint64_t first; /* of this life */
	uint64_t highest;
	uint64_t seen; /* bit i: highest - i was accepted */
	uint64_t lost; /* not seen between first and highest; a reordered one takes itself back */
	uint64_t settled_lost; /* of those, the ones that have left the 64-wide window and can no longer
				  arrive */
};

/* What the last BFD control packet said; the interval is the one in force, so not that of a poll. */
struct kphi_bfd {
	uint32_t discriminator; /* the sender's own */
	uint32_t desired_tx_us, required_rx_us;
	uint8_t state; /* enum kphi_bfd_state */
	uint8_t diagnostic; /* RFC 5880, 4.1 */
	uint8_t multiplier;
	uint8_t flags; /* enum kphi_bfd_flag */
};

enum kphi_state {
	KPHI_FREE = 0, /* no peer in this slot */
	KPHI_WAITING = 1, /* added or reset, not yet heard */
	KPHI_UP = 2,
	KPHI_LEFT = 3, /* said goodbye: until a newer beat */
	KPHI_DOWN = 4, /* declared dead by its own watcher: until a higher epoch */
};

struct kphi_record {
	uint64_t version; /* odd while somebody writes: readers retry until they see the same even number
			     twice */
	uint32_t generation; /* raised when the peer is deleted, so that old handles are known */
	uint8_t state; /* enum kphi_state */
	uint8_t flags; /* low bits of the last message's enum kphi_wire_flag */
	uint16_t cpu; /* that took the last arrival */
	uint64_t last_ns; /* last arrival; means nothing while waiting */
	uint64_t since_ns; /* when `state` was entered, or this life began */
	uint64_t stalled_copy_ns; /* that CPU's stalled_total_ns at the last arrival */
	uint64_t epoch; /* rules: rises with each restart; while waiting, the lowest one that is accepted */
	uint64_t stale_ns; /* last arrival of a stale epoch or sequence; 0: never */
	uint64_t beats;
	uint64_t duplicates;
	uint64_t reordered;
	uint64_t stale;
	uint64_t restarts;
	uint64_t capped;
	uint32_t retuned;
	uint32_t resync; /* rules with sequence numbers: the present row of refused ones, see sequence.h */
	uint64_t stamp_inverted;
	uint64_t unlearned;
	struct kphi_sequence sequence;
	struct kphi_window window;
	uint32_t device,
		other_device; /* ifindex of the last arrival's, and of the last one that was not the same */
	uint64_t other_ns; /* last time something came by other_device */
	union { /* as the last message had it */
		struct {
			uint64_t cluster_version;
			uint32_t load_average, available_capacity;
		}; /* native */
		struct kphi_bfd bfd;
		uint64_t speaker[2]; /* other rules: source address, 16 bytes in network order */
	};
};

#define KPHI_RINGS 1024

/*
 * A name under which peers have their key. It has two places, so that while senders change from one key to
 * the next both are accepted. What stands here is for everybody who may read the store.
 */
#define KPHI_RING_KEYS 2

struct kphi_ring {
	char name[KPHI_NAME_SIZE]; /* empty: there is no such ring */
	uint64_t added_ns[KPHI_RING_KEYS];
	uint64_t fingerprint[KPHI_RING_KEYS]; /* of the key: tells two apart, and nothing else */
	uint32_t key_id[KPHI_RING_KEYS]; /* as it is on the wire; 0: no key in this place */
};

/* And what stands here is not. */
struct kphi_keys {
	uint64_t key[KPHI_RING_KEYS][2];
	uint32_t key_id[KPHI_RING_KEYS];
};

/*
 * Of a native peer that has demands: what its messages showed. Not in the record, so that a message that
 * could not prove itself moves nothing there, not even its lock. Single words, each of which may be read at
 * any time.
 */
struct kphi_seal {
	uint64_t refused; /* messages */
	uint64_t refused_ns; /* last time */
	uint32_t refused_as; /* enum kphi_counter: what that one lacked */
	uint32_t key_id; /* of the last accepted message; 0: none was signed */
};

struct kphi_lock {
	uint32_t lock; /* struct bpf_spin_lock on the BPF side */
};

struct kphi_counters {
	uint64_t count[KPHI_COUNTERS];
} __attribute__((aligned(64)));

#define KPHI_TICK_NS       10000000ULL /* a CPU that takes beats proves every 10 ms that it runs softirq work */
#define KPHI_TICK_LIMIT_NS 50000000ULL /* a tick later than this is a stall */
#define KPHI_TICK_KEEP_NS  60000000000ULL /* without beats, ticks end after this long, or after ... */
#define KPHI_TICK_KEEP     3 /* ... so many of the longest intervals heard, if that is longer */
#define KPHI_STALL_FADE_NS 60000000000ULL /* how long a long stall outranks shorter ones after it */
#define KPHI_STALLS        16 /* kept per CPU, for display */

struct kphi_stall {
	uint64_t end_ns;
	uint64_t length_ns; /* from the last tick before it to its end */
};

/* One CPU's stopwatch on itself. All zero on a CPU that never took a beat. */
struct kphi_tick {
	uint64_t last_ns; /* last tick; 0: none is armed, and silence is not discounted */
	uint64_t stalled_total_ns;
	uint64_t stall_end_ns; /* end of the last stall or suspend; 0: none yet */
	uint64_t stall_length_ns; /* of the longest stall of the last minute */
	uint64_t stall_length_end_ns; /* and when that one ended */
	uint64_t beat_ns; /* last packet to one of our ports */
	uint64_t longest_ns; /* longest interval in force among the peers heard here */
	uint64_t boot_offset_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC at the last tick: it grows by each
				    suspend */
	uint64_t suspended_total_ns;
	uint64_t worst_ns; /* longest gap between two ticks */
	uint64_t ticks; /* how often the CPU was woken for this */
	uint64_t stalls;
	uint32_t program; /* which load of the program keeps it ticking; 0: none */
	uint32_t armed_cpu; /* where the timer ran last: another CPU than its own means it was migrated
			       (before 6.7) */
	uint64_t unused[3];
	struct kphi_stall stall[KPHI_STALLS]; /* a ring: the next goes to stalls % KPHI_STALLS */
};

struct kphi_timer {
	uint64_t timer[2]; /* struct bpf_timer on the BPF side */
};

/* Sent when a verdict may change before its deadline. May be lost; a scan repairs. */
struct kphi_hint {
	uint32_t slot, generation;
};
#define KPHI_HINTS_BYTES (256 * 1024)

/* Messages as they came, for who records them: struct kphi_arrival of record.h. */
#define KPHI_ARRIVALS_BYTES (2 * 1024 * 1024)
#define KPHI_ARRIVAL_LAYOUT 2 /* rises when that struct changes: it makes another ABI */

/*
 * A sound native message whose node id is nobody's, for who asks who knocks. Nothing in it is proved: a tag
 * cannot be held against a key before it is known whose.
 */
struct kphi_stranger {
	uint64_t now_ns; /* stamp */
	uint64_t epoch, sequence;
	uint8_t node_id[16];
	uint8_t source[16]; /* as in the identity of a rule */
	uint32_t device; /* ifindex it came by */
	uint32_t key_id; /* with which it says to be signed; 0: it is not */
	uint16_t port; /* it was sent to, host order */
	uint8_t ttl; /* or hop limit */
	uint8_t type; /* enum kphi_wire_type */
	uint8_t unused[4];
};
#define KPHI_STRANGERS_BYTES (64 * 1024)

enum kphi_verdict_state {
	KPHI_VERDICT_UNKNOWN = 0,
	KPHI_VERDICT_TRUST = 1,
	KPHI_VERDICT_SUSPECT = 2, /* by at least one consumer */
	KPHI_VERDICT_HELD = 3, /* would be suspect, but the evidence is against this host */
	KPHI_VERDICT_BLIND = 4, /* this host cannot hear the peer */
};

enum kphi_verdict_cause {
	KPHI_BECAUSE_NOTHING = 0, /* trust, unknown */
	KPHI_BECAUSE_SILENCE = 1, /* suspect: phi has reached the threshold */
	KPHI_BECAUSE_NEVER_HEARD = 2, /* suspect */
	KPHI_BECAUSE_DECLARED_DOWN = 3, /* suspect */
	KPHI_BECAUSE_STALL = 4, /* held: this host has stalled */
	KPHI_BECAUSE_CORRELATED = 5, /* held: too many are overdue at once */
	KPHI_BECAUSE_CARRIER = 6, /* blind */
	KPHI_BECAUSE_HOOK = 7, /* blind */
	KPHI_BECAUSE_MUTE = 8, /* unknown */
};

/* What `kphi run` thinks, for other programs, BPF ones included. */
struct kphi_verdict {
	uint64_t version; /* odd while it is written */
	uint64_t valid_until_ns; /* later than this, whatever stands here is UNKNOWN: the daemon has died */
	uint64_t token; /* fencing token of the last change: boot counter << 40 | n */
	uint64_t epoch; /* of the life that was judged */
	uint64_t since_ns; /* of the first suspicion, or of the return of trust */
	uint32_t generation;
	uint32_t consumers; /* bit i: consumer i of the configuration suspects it */
	uint8_t state; /* enum kphi_verdict_state */
	uint8_t cause; /* enum kphi_verdict_cause */
	uint8_t reserved[2];
	uint32_t held; /* bit i: consumer i would suspect it, but that is withheld */
	uint32_t shadows; /* bit i: consumer i suspects it, and nobody acts on that; never in `consumers` */
	uint32_t life; /* of the daemon that wrote it: the low word of its kphi_daemon.starts */
};

#define KPHI_CONSUMERS        32
#define KPHI_LATENESS_BUCKETS 40

/* Bucket 0 counts what is below 2 ns, bucket i from 2^i up to 2^(i+1) ns; the last one is open: from 9
 * minutes. */
struct kphi_histogram {
	uint64_t bucket[KPHI_LATENESS_BUCKETS];
	uint64_t sum_ns, worst_ns;
};

struct kphi_consumer {
	char name[KPHI_NAME_SIZE];
	uint64_t suspect, clear; /* thresholds: phi in Q32.32 */
	uint64_t suspicions; /* begun, by who bears this name at this place */
	uint8_t shadow; /* events only */
	uint8_t reserved[7];
};

#define KPHI_EVENT_ROWS   32 /* types of events: enum event_type of user space */
#define KPHI_EVENT_CAUSES 16 /* their causes: enum event_cause */

/*
 * What `kphi run` tells of itself; it is the only writer. What is counted goes on over its restarts, as the
 * counters of packets do. Single words, each of which may be read at any time; only the consumers go
 * together.
 */
struct kphi_daemon {
	uint64_t version; /* odd while the consumers are written */
	uint64_t alive_until_ns; /* later than this it has died; 0: it has ended in order, or never lived */
	uint64_t started_ns;
	uint32_t pid;
	uint32_t consumers; /* entries of `consumer` */
	uint64_t starts; /* daemons, this one included */
	uint64_t configs, configs_refused; /* applied; not */
	uint64_t clients; /* of the event socket, now */
	uint64_t events_dropped; /* that a client was too slow for */
	uint64_t commands,
		commands_failed; /* of consumers: run; those that failed, timed out or were not run */
	struct kphi_histogram lateness; /* of the loop against its deadlines */
	struct kphi_histogram latency; /* of verdicts: from the crossing of the threshold to the verdict */
	uint64_t events[KPHI_EVENT_ROWS][KPHI_EVENT_CAUSES];
	struct kphi_consumer consumer[KPHI_CONSUMERS];
};

/* What user space asks of the control program: the data of one BPF_PROG_TEST_RUN. */
enum kphi_control_op {
	KPHI_CONTROL_ADD = 1, /* peer into a free slot, with its identity and, for a rule, its port */
	KPHI_CONTROL_DELETE = 2,
	KPHI_CONTROL_RESET = 3, /* forget what was heard; any epoch is accepted next */
	KPHI_CONTROL_LISTEN = 4, /* native heartbeats on `port` */
	KPHI_CONTROL_DEAFEN = 5, /* no native heartbeats on `port` any more */
	KPHI_CONTROL_WATCH = 6, /* hint at the next beat of this peer */
	KPHI_CONTROL_UNWATCH = 7,
	KPHI_CONTROL_MUTE = 8, /* peer.mute_until_ns and mute_reason; 0 and "" end it */
	KPHI_CONTROL_STOP_TICK = 9, /* of the CPU in `slot` */
	KPHI_CONTROL_RECORD = 11, /* arrivals go to the ring buffer `arrivals` until `until_ns` */
	KPHI_CONTROL_MOVE = 10, /* a rule's device has another ifindex now: peer.id.device */
	KPHI_CONTROL_VERDICT = 12, /* on the slot, whoever lives there */
	KPHI_CONTROL_REFRESH = 13, /* the verdicts on slots `slot` up to `end` that have verdict.life */
	KPHI_CONTROL_DISCOVER = 14, /* unknown ids go to the ring buffer `strangers` until `until_ns` */
	KPHI_CONTROL_RING = 20, /* `ring` has the name peer.name from now on, and no key; "" frees it */
	KPHI_CONTROL_KEY = 21, /* `key` into `place` of `ring`; a key_id of 0 takes out what is there */
	KPHI_CONTROL_USE = 22, /* the peer's messages must be signed with a key of peer.ring */
};

/* So many slots, at most, are refreshed by one request: its CPU takes no packets while it runs, some 10 us.
 */
#define KPHI_REFRESH_SLOTS 1024

struct kphi_control {
	uint8_t op; /* enum kphi_control_op */
	uint8_t last_of_shape; /* delete: no other rule of this peer's port (or protocol) has its shape */
	uint16_t port; /* listen, deafen: host order */
	uint32_t slot;
	uint32_t generation; /* delete, reset: must be the record's */
	uint32_t end; /* refresh */
	uint64_t now_ns;
	uint64_t until_ns; /* record, discover; refresh: valid_until_ns */
	uint64_t epoch_floor; /* add: lower epochs than this are stale from the start; 0: any is accepted */
	struct kphi_peer peer; /* add */
	struct kphi_rule rule; /* add */
	struct kphi_shape shape; /* add: what stands at peer.id.shape */
	struct kphi_verdict verdict; /* verdict: all but its version; refresh: its life */
	uint64_t sequence_floor; /* add: of epoch_floor, numbers up to this are stale */
	uint64_t key[2]; /* key */
	uint64_t fingerprint;
	uint32_t key_id;
	uint16_t ring, place; /* ring, key */
};

/* What the control program answers (its return value). */
enum kphi_control_result {
	KPHI_CONTROL_OK = 0,
	KPHI_CONTROL_BAD = 1, /* malformed request */
	KPHI_CONTROL_NO_SLOT = 2, /* beyond the store's capacity */
	KPHI_CONTROL_BUSY = 3, /* add: the slot is taken */
	KPHI_CONTROL_TAKEN = 4, /* add: the identity belongs to another peer */
	KPHI_CONTROL_GONE = 5, /* delete, reset: another generation lives there */
	KPHI_CONTROL_FULL = 6, /* add: `ids` has no room */
	KPHI_CONTROL_KEYLESS = 7, /* add: every native peer of this store must have a key */
};

/* For whom a packet may be: a bit for native heartbeats, and one for each shape of rules on its port. */
#define KPHI_PORT_NATIVE   1U
#define KPHI_PORT_SHAPE(n) (1U << (n))
#define KPHI_PORTS         65536 /* UDP ports; behind them a row for each other IP protocol */
#define KPHI_PORT_ROWS     (KPHI_PORTS + 256)

struct kphi_ports {
	uint64_t record_until_ns; /* somebody records arrivals until then, unless he renews it */
	uint64_t discover_until_ns; /* the same of who asks for strangers */
	uint16_t bits[KPHI_PORT_ROWS];
	struct kphi_shape shape[KPHI_SHAPES + 1]; /* from 1 */
};

KPHI_ASSERT_SIZE(struct kphi_store, 64);
KPHI_ASSERT_SIZE(struct kphi_id, 48);
KPHI_ASSERT_SIZE(struct kphi_slot, 8);
KPHI_ASSERT_SIZE(struct kphi_match, 24);
KPHI_ASSERT_SIZE(struct kphi_shape, 24);
KPHI_ASSERT_SIZE(struct kphi_rule, 128);
KPHI_ASSERT_OFFSET(struct kphi_rule, ifindex, 92);
KPHI_ASSERT_SIZE(struct kphi_ports, 16 + 2 * KPHI_PORT_ROWS + 16 * 24);
KPHI_ASSERT_SIZE(struct kphi_bfd, 16);
KPHI_ASSERT_SIZE(struct kphi_peer, 280);
KPHI_ASSERT_OFFSET(struct kphi_peer, id, 128);
KPHI_ASSERT_OFFSET(struct kphi_peer, model, 216);
KPHI_ASSERT_OFFSET(struct kphi_peer, ring, 220);
KPHI_ASSERT_SIZE(struct kphi_window, 104);
KPHI_ASSERT_SIZE(struct kphi_sequence, 40);
KPHI_ASSERT_SIZE(struct kphi_record, 304);
KPHI_ASSERT_OFFSET(struct kphi_record, sequence, 128);
KPHI_ASSERT_OFFSET(struct kphi_record, window, 168);
KPHI_ASSERT_SIZE(struct kphi_lock, 4);
KPHI_ASSERT_SIZE(struct kphi_tick, 384);
KPHI_ASSERT_SIZE(struct kphi_verdict, 64);
KPHI_ASSERT_SIZE(struct kphi_histogram, 336);
KPHI_ASSERT_SIZE(struct kphi_consumer, 96);
KPHI_ASSERT_SIZE(struct kphi_daemon, 7928);
KPHI_ASSERT_SIZE(struct kphi_hint, 8);
KPHI_ASSERT_SIZE(struct kphi_stranger, 72);
KPHI_ASSERT_OFFSET(struct kphi_stranger, device, 56);
KPHI_ASSERT_SIZE(struct kphi_timer, 16);
KPHI_ASSERT_OFFSET(struct kphi_peer, mute_until_ns, 224);
KPHI_ASSERT_SIZE(struct kphi_ring, 104);
KPHI_ASSERT_SIZE(struct kphi_keys, 40);
KPHI_ASSERT_SIZE(struct kphi_seal, 24);
KPHI_ASSERT_SIZE(struct kphi_control, 576);

#endif
