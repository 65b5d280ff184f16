/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libkphi: what kphi knows of peers, for programs that act on it, and beats for programs that want to be
 * heard.
 *
 * Times are nanoseconds (_ns) of CLOCK_MONOTONIC of the host's own time namespace. Suspicion levels (_q32)
 * are unsigned fixed point, 2^32 being 1: phi 8 is 8 << 32. They go from 0 to 2147483647 << 32.
 *
 * Functions that return int return a negative errno when they fail, unless they say otherwise. `why`, where
 * there is one, then holds one sentence: what was tried, on what, why it failed, what to do. It may be NULL;
 * KPHI_WHY_SIZE is room for any. Nothing here prints, ends the process or touches signals.
 *
 *   struct kphi *k;
 *   struct kphi_ref db1;
 *   char why[KPHI_WHY_SIZE];
 *
 *   if (kphi_open(&k, NULL, why, sizeof(why)) || kphi_find(k, "db1", &db1))
 *           ...
 *   if (kphi_suspected(k, db1, KPHI_ANY, kphi_now_ns()) == KPHI_SUSPECTED)
 *           ...
 *
 * Link with `pkg-config --libs libkphi`. A BPF program may include this for struct kphi_judgement: clang
 * -target bpf needs -ffreestanding for it, so that <stdint.h> is the compiler's own.
 */
#ifndef KPHI_H
#define KPHI_H

#ifndef __VMLINUX_H__ /* which brings these types */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define KPHI_WHY_SIZE  1024
#define KPHI_NAME_ROOM 64 /* of a name: 63 bytes of UTF-8 and a zero */

/* "0.1.0": of the library that runs, not of the one that was compiled against. */
const char *kphi_version(void);

/* CLOCK_MONOTONIC, without a system call. */
uint64_t kphi_now_ns(void);

/* ------------------------------------------------------------------------------------------------------
 * Reading a store
 *
 * Needs no privilege beyond membership in the store's group: its maps are mapped read-only. A handle may be
 * used by any number of threads at once, and across fork(), because nothing in it changes; only kphi_close()
 * must come last.
 *
 * A query is a function that takes `now_ns`, and kphi_find(), kphi_find_id() and kphi_next(). Queries make no
 * system call and allocate nothing. They may be asked at any time, in a signal handler as well.
 *
 * `kphi store purge` takes the store from its path, not from those who have it open. Verdicts in it expire
 * within seconds, as if `kphi run` had died, but records stay as they are, so that every silence grows: ask
 * kphi_stale() once in a while, and before acting on a phi.
 */

struct kphi;

/*
 * Opens the store of which `root` is the directory (NULL: /run/kphi/bpf). The one allocation there is.
 *   -ENOENT        there is no store, or only one of another ABI; `why` says which
 *   -EACCES        neither root nor in the store's group
 *   -EINVAL        `root` is not on a bpffs
 *   -EXDEV         this process is in a time namespace: its clock is not the one of the stamps
 *   -ENAMETOOLONG, -ENOMEM, ...
 * *k is NULL then.
 */
int kphi_open(struct kphi **k, const char *root, char *why, size_t why_size);

/* NULL is nothing to close. */
void kphi_close(struct kphi *k);

/*
 * Is what is open no longer the store at its path, because it was purged, and perhaps made anew? 0 or 1. Then
 * open that one and close this one; slots, generations and consumers are other ones there. Or -errno: it
 * cannot be told. One system call.
 */
int kphi_stale(const struct kphi *k);

/*
 * A peer in a store, for as long as it is there. When it is deleted its slot is reused, but never its
 * generation: queries about it then return -ESTALE, and kphi_find() finds the successor. Restarts of the
 * peer change nothing in it.
 */
struct kphi_ref {
	uint32_t slot;
	uint32_t generation;
};

/* For who was not found yet: every query says -ESTALE. */
#ifdef __cplusplus
#define KPHI_NOBODY (kphi_ref{UINT32_MAX, 0})
#else
#define KPHI_NOBODY ((struct kphi_ref){UINT32_MAX, 0})
#endif

/* By its name, or by the 16 bytes of its node id: -ENOENT if there is none. Looks at every slot. */
int kphi_find(const struct kphi *k, const char *name, struct kphi_ref *peer);
int kphi_find_id(const struct kphi *k, const uint8_t id[16], struct kphi_ref *peer);

/* Who a peer is. */
struct kphi_about {
	struct kphi_ref ref;
	char name[KPHI_NAME_ROOM];
	char host[KPHI_NAME_ROOM]; /* label that groups the streams of a host; may be empty */
	uint8_t id[16]; /* node id; all zero if it is known by a rule */
	uint64_t interval_ns; /* configured; 0: it is learned */
	int32_t model; /* that judges it: kphi_model_name() */
	uint32_t is_rule; /* 1: known by a rule, not by a node id */
};

/*
 * The first peer in a slot from *cursor on, which is moved behind it; begin with 0. 1, or 0: there are no
 * more, and *about is untouched. One that is being written all the time is passed over. What is added or
 * deleted meanwhile may be seen or not.
 */
int kphi_next(const struct kphi *k, uint32_t *cursor, struct kphi_about *about);

/* --- verdicts: what `kphi run` thinks ----------------------------------------------------------------- */

enum kphi_answer {
	KPHI_NOT_SUSPECTED = 0,
	KPHI_SUSPECTED = 1,
	KPHI_UNKNOWN = 2, /* nobody can say: `kphi run` is gone or has not judged this life of the peer yet,
			     the peer is muted or has said goodbye, this host cannot hear it, or the evidence
			     is against this host and the suspicion withheld */
};

#define KPHI_ANY (-1) /* consumer */

/*
 * Is the peer suspected, for this consumer (its number, see kphi_consumer()) or for any? One of enum
 * kphi_answer, or
 *   -ESTALE   there is no such peer any more
 *   -EINVAL   no such number: consumers are 0 to 31
 * A consumer that is not configured, a shadow, and one that the peer is none of `peers` for suspect nobody.
 */
int kphi_suspected(const struct kphi *k, struct kphi_ref peer, int consumer, uint64_t now_ns);

enum kphi_stance {
	KPHI_STANCE_UNKNOWN = 0, /* muted, left, deleted, not judged yet, or expired */
	KPHI_STANCE_TRUST = 1,
	KPHI_STANCE_SUSPECT = 2, /* by at least one consumer */
	KPHI_STANCE_HELD = 3, /* would be suspect, but the evidence is against this host */
	KPHI_STANCE_BLIND = 4, /* this host cannot hear the peer */
};

enum kphi_because {
	KPHI_OF_NOTHING = 0, /* trust, unknown */
	KPHI_OF_SILENCE = 1, /* suspect: phi has reached the threshold */
	KPHI_OF_NEVER_HEARD = 2, /* suspect */
	KPHI_OF_DECLARED_DOWN = 3, /* suspect: its own watcher said so */
	KPHI_OF_STALL = 4, /* held: this host has stalled */
	KPHI_OF_CORRELATED = 5, /* held: too many are overdue at once */
	KPHI_OF_CARRIER = 6, /* blind */
	KPHI_OF_HOOK = 7, /* blind */
	KPHI_OF_MUTE = 8, /* unknown */
};

/*
 * A verdict, and one element of the BPF map `verdicts`, whose index is the peer's slot: docs/verdicts.md says
 * how another BPF program reads it. This layout stays as it is for as long as the soname does.
 */
struct kphi_judgement {
	uint64_t version; /* odd while it is written */
	uint64_t valid_until_ns; /* from then on, whatever stands here is unknown: `kphi run` has died */
	uint64_t token; /* fencing token of the last change: it only rises, over restarts of `kphi run` too */
	uint64_t epoch; /* of the life that was judged */
	uint64_t since_ns; /* of the first suspicion, or of the return of trust */
	uint32_t generation; /* of the peer */
	uint32_t consumers; /* bit i: consumer i suspects it */
	uint8_t stance; /* enum kphi_stance */
	uint8_t because; /* enum kphi_because */
	uint8_t reserved[2];
	uint32_t held; /* bit i: consumer i would suspect it, but that is withheld */
	uint32_t shadows; /* bit i: shadow i suspects it; nobody is to act on that */
	uint32_t life; /* of the `kphi run` that wrote it */
};

/*
 * The whole verdict. Expired, or on a former life of the peer, it is all zero, which is a stance of
 * unknown. 0, or -ESTALE.
 */
int kphi_judge(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns, struct kphi_judgement *judgement);

/* For whom a suspicion is: an entry of `consumers` in the configuration of `kphi run`. */
struct kphi_consumer_info {
	int32_t number; /* 0 to 31: its place in the file */
	uint32_t shadow; /* 1: events only, never a suspicion */
	uint64_t suspect_q32; /* thresholds: phi at which suspicion begins, and to which it has to fall */
	uint64_t clear_q32;
};

/*
 * The consumer of this name, as the `kphi run` of now has it. A reload may give it another number: ask again
 * once in a while, or use KPHI_ANY. System calls, no allocation.
 *   -EAGAIN   no `kphi run` lives on this store
 *   -ENOENT   it has no such consumer
 */
int kphi_consumer(const struct kphi *k, const char *name, struct kphi_consumer_info *consumer);

/* A new descriptor of the map `verdicts`, for bpf_map__reuse_fd(); or -ESTALE (see kphi_stale()), -errno. */
int kphi_verdicts_fd(const struct kphi *k);

/* --- phi: what anybody may think, whether `kphi run` lives or not --------------------------------------- */

#define KPHI_OWN_MODEL (-1) /* the one that the peer was given */

/* The number of the model of this name ("normal", "akka", "exponential", "loss", "empirical"), or -EINVAL. */
int kphi_model(const char *name);

/* And back. NULL: there is none of this number. */
const char *kphi_model_name(int model);

/* A peer's state by its record alone. */
enum kphi_condition {
	KPHI_IS_WAITING = 0, /* no beat yet, or its goodbye was so long ago that it is not believed */
	KPHI_IS_LEARNING = 1, /* beats, but too few to know the interval */
	KPHI_IS_UP = 2,
	KPHI_IS_SUSPECT = 3, /* phi has reached the threshold */
	KPHI_IS_LEFT = 4, /* said goodbye */
	KPHI_IS_DOWN = 5, /* its own watcher declared it dead */
	KPHI_IS_HELD = 6, /* would be suspect, but is in grace after a stall of this host */
};

struct kphi_reading {
	uint64_t phi_q32; /* 0 unless judged */
	uint64_t suspect_in_ns; /* until phi reaches the threshold if nothing arrives; 0: it has; UINT64_MAX:
				   never, or not judged */
	uint64_t silence_ns; /* since the last arrival, less this host's own stalls; 0 while waiting */
	uint64_t beats; /* accepted */
	uint64_t epoch; /* of its present life */
	uint32_t samples; /* intervals in its window */
	int32_t model; /* that phi is of: a phi means nothing without it */
	uint8_t condition; /* enum kphi_condition */
	uint8_t judged; /* 1: phi_q32 and suspect_in_ns mean something: it is up, suspect or held */
	uint8_t degraded; /* 1: its last message said that its own health check fails */
	uint8_t muted; /* 1: maintenance: `kphi run` gives no verdict on it */
	uint32_t reserved;
};

/*
 * phi by a model, and the time until it reaches a threshold (phi 8 where that is 0; one that is no whole
 * number up to 16 takes half a microsecond more). Takes some 40 KB of the stack for the empirical model, 2 KB
 * for the others.
 *
 *   -ESTALE   there is no such peer any more
 *   -EBUSY    its record was being written each of the 1,000 times it was read
 *   -EINVAL   no such model
 */
int kphi_read(const struct kphi *k, struct kphi_ref peer, int model, uint64_t threshold_q32, uint64_t now_ns,
	      struct kphi_reading *reading);

/* ------------------------------------------------------------------------------------------------------
 * Beating
 *
 * From a program's own main loop, so that the beat shares the fate of the work: a loop that hangs is silent.
 * The messages are those of `kphi beat`. A sender is for one thread at a time, and after fork() for one
 * process.
 */

struct kphi_sender;

struct kphi_beat_config {
	const char *const *to; /* 1 to 64 of ADDRESS, ADDRESS:PORT or [IPV6]:PORT, then NULL; port 7441 unless
				  given; no host names */
	const uint8_t *id; /* 16 bytes, the node id; NULL: this host's, made from /etc/machine-id */
	const char *state; /* file that keeps the restart counter; NULL: /var/lib/kphi/epoch-UUID. One sender
			      at a time may have it, and FILE.lock beside it stays */
	const char *key; /* file with the key that signs, mode 0600 (`kphi key add NAME generate FILE`); NULL:
			    nothing is signed */
	uint64_t cluster_version; /* the application's, carried along */
};

/*
 * Opens sockets and takes the next epoch from the file, which is on disk before this returns.
 *   -EINVAL     an address, or the key file, is not right
 *   -EBUSY      another sender has the file
 *   -EBADMSG    the file is damaged      -EBADSLT   it is another node's      -EOVERFLOW   it is used up
 *   -ENOENT, -EACCES, -EROFS, -ENOMEM, ...
 * *sender is NULL then, and no epoch was used up.
 */
int kphi_beat_open(struct kphi_sender **sender, const struct kphi_beat_config *config, char *why,
		   size_t why_size);

enum kphi_beat_flag {
	KPHI_BEAT_DEGRADED = 1 << 0, /* alive, but not well: observers show it, and suspect nobody for it */
};

/*
 * One beat to every destination. Never blocks, allocates nothing; a system call for each destination, and two
 * more once a second, for the load that it tells. Flags: enum kphi_beat_flag, or'ed. 0, or -errno of the
 * first destination that it could not be sent to (the others had it all the same): nothing has to be done
 * about that but to send the next one. -EINVAL: a flag that is not known; nothing was sent.
 *
 * Send once an interval: the one that observers know, or can learn. Every beat of a burst counts.
 */
int kphi_beat_send(struct kphi_sender *sender, uint32_t flags);

/* Of the present life: max(saved + 1, seconds of the wall clock at kphi_beat_open()). */
uint64_t kphi_beat_epoch(const struct kphi_sender *sender);

/*
 * Frees the sender; NULL is nothing to free. With `leave` it says goodbye, three times within 40 ms, and
 * nobody suspects it; without, it falls silent as if it had been killed.
 */
void kphi_beat_close(struct kphi_sender *sender, bool leave);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
