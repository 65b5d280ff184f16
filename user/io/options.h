/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command's keyword arguments as a table. The parser and the help text read the same table, so they agree.
 *
 *	static const struct option_spec specs[] = {
 *		{ "name", OPT_NAME, offsetof(struct add, name), OPT_NO_HAS, .required = true,
 *		  .help = "how everybody calls the peer" },
 *		{ "model", OPT_CHOICE, offsetof(struct add, model), OPT_NO_HAS, .choices = models,
 *		  .help = "how its silence is judged" },
 *		{ "interval", OPT_DURATION, offsetof(struct add, interval_ns),
 *		  offsetof(struct add, has_interval), .min = 1000000, .max = KPHI_INTERVAL_MAX_NS,
 *		  .help = "how often the peer beats" },
 *	};
 */
#ifndef KPHI_IO_OPTIONS_H
#define KPHI_IO_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "io/args.h"

/* What a keyword takes, and what is found at `offset` afterwards. */
enum option_type {
	OPT_FLAG, /* no value; bool */
	OPT_U64, /* uint64_t */
	OPT_DURATION, /* uint64_t, nanoseconds */
	OPT_PERCENT, /* uint32_t, parts per million */
	OPT_PORT, /* uint16_t, host order */
	OPT_UUID, /* uint8_t[16] */
	OPT_ADDRESS, /* uint8_t[16], IPv4 as ::ffff:a.b.c.d */
	OPT_ENDPOINT, /* struct sockaddr_storage; `min` is the default port, 0: none */
	OPT_NAME, /* char[KPHI_NAME_SIZE], zero-filled */
	OPT_STRING, /* const char *, the word itself, not empty */
	OPT_CHOICE, /* int, index into `choices` */
};

#define OPT_NO_HAS  ((size_t)-1)
#define OPTIONS_MAX 64

struct option_spec {
	const char *name;
	enum option_type type;
	size_t offset; /* of the value */
	size_t has; /* offset of a bool that becomes true when the option was given; OPT_NO_HAS: none */
	uint64_t min, max; /* OPT_U64 and OPT_DURATION; max 0: no upper limit */
	const char *help; /* one line, no full stop */
	bool required;
	const char *value; /* placeholder in the help text; NULL: the type's */
	const char *const *choices; /* OPT_CHOICE: ends with NULL */
	unsigned int times; /* OPT_STRING: may be given so often; `offset` is that of an array. 0: once */
};

/*
 * Reads all words that are left. 0, or -EINVAL after one sentence through fail(); `into` may then be half
 * filled. Options that were not given leave their fields alone.
 */
int options_parse(struct args *args, const struct option_spec *specs, size_t n, void *into);

/* "interval DURATION" or "model { normal | akka }". */
void options_syntax(const struct option_spec *spec, char *text, size_t size);

/* What the table knows of its values beyond that: " (1ms to 1h)"; nothing when everything goes. */
void options_range(const struct option_spec *spec, char *text, size_t size);

/*
 * The end of a usage line: name NAME [interval DURATION] [model { normal | akka }]. Long ones go on in
 * further lines, indented; there is no newline at the end.
 */
void options_usage(FILE *to, const struct option_spec *specs, size_t n);

/* The same as a list, an option a line, with ranges. */
void options_help(FILE *to, const struct option_spec *specs, size_t n);

#endif
