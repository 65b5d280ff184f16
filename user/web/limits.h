/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client may take of us: time, connections, memory. A client that sends a byte a second is never idle,
 * and one that reads a byte a second neither, so it is not idleness that ends a connection but a deadline for
 * each request and for each answer. When room gets short, the oldest who has not finished goes: who asks and
 * reads as one should has long finished by then.
 */
#ifndef KPHI_WEB_LIMITS_H
#define KPHI_WEB_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMITS_CONNECTIONS 512 /* accepted at once */
#define LIMITS_RESERVE     32 /* of them, kept free by sending somebody away */
#define LIMITS_REQUEST_NS  10000000000ULL /* for a request, from the connection or the last answer on */
#define LIMITS_ANSWER_NS   60000000000ULL /* for reading an answer */
/* Answers that wait for their readers: so many bytes, or so many of the present one if it is a large one. */
#define LIMITS_ANSWERS_BYTES (64U << 20)
#define LIMITS_ANSWERS       4

enum visitor_phase {
	VISITOR_ASKS, /* its request is not complete */
	VISITOR_READS, /* its answer is on its way */
	VISITOR_STREAMS, /* has its own rules */
	VISITOR_GOES, /* sent away: its socket is shut down, and to be closed by its owner */
};

/* A connection. */
struct visitor {
	int fd; /* its owner's */
	enum visitor_phase phase;
	uint64_t since_ns; /* of the phase */
	size_t bytes; /* of the answer */
	struct visitor *before, *after; /* by since_ns, the oldest first */
};

struct limits {
	struct visitor *first, *last;
	uint32_t connections; /* that may be open */
	uint32_t count; /* that are, without those who go */
	size_t answers_bytes;
	uint64_t sent_away; /* so far */
};

/* A connection more, and perhaps one less. NULL: no memory. */
struct visitor *limits_enter(struct limits *l, int fd, uint64_t now_ns);
void limits_leave(struct limits *l, struct visitor *v);

/* Its request is complete, and so long is the answer. */
void limits_answer(struct limits *l, struct visitor *v, size_t bytes, uint64_t now_ns);
void limits_stream(struct limits *l, struct visitor *v, uint64_t now_ns);

/* It has got its answer, and may ask again. */
void limits_answered(struct limits *l, struct visitor *v, uint64_t now_ns);

void limits_send_away(struct limits *l, struct visitor *v);

/* Sends away whoever has exceeded a deadline. To be called once a second. */
void limits_check(struct limits *l, uint64_t now_ns);

#endif
