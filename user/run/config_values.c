// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/args.h"
#include "io/parse.h"
#include "run/config_check.h"

#define DECIMALS 9

int complain(const struct check *c, const struct yaml_path *at, const char *fmt, ...)
{
	int head = snprintf(c->why, CONFIG_WHY_SIZE, "%.512s:%u: ", c->file, yaml_tree_line(c->tree, at));
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->why + head, CONFIG_WHY_SIZE - (size_t)head, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int complain_key(const struct check *c, const struct yaml_path *in, const char *key, const char *reason)
{
	struct yaml_path at = yaml_key(*in, key);

	return complain(c, &at, "%s: %s", key, reason);
}

int take_u64(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
	     uint64_t min, uint64_t max, uint64_t *value)
{
	char why[WHY_SIZE];

	if (!text || !parse_u64(text, min, max, value, why, sizeof(why)))
		return 0;
	return complain_key(c, in, key, why);
}

int take_duration(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		  uint64_t min_ns, uint64_t max_ns, uint64_t *ns)
{
	char why[WHY_SIZE];

	if (!text || !parse_duration(text, min_ns, max_ns, ns, why, sizeof(why)))
		return 0;
	return complain_key(c, in, key, why);
}

int take_port(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
	      uint16_t *port)
{
	char why[WHY_SIZE];

	if (!text || !parse_port(text, port, why, sizeof(why)))
		return 0;
	return complain_key(c, in, key, why);
}

/* The words that YAML 1.1 has for it. */
int take_switch(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		bool *value)
{
	static const char *const words[] = {"off", "on", "no", "yes", "false", "true"};
	char why[WHY_SIZE];

	if (!text)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(text, words[i]) != 0)
			continue;
		*value = i & 1;
		return 0;
	}
	refuse(-EINVAL, why, sizeof(why), QUOTED " is neither on nor off", text);
	return complain_key(c, in, key, why);
}

int take_choice(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		const char *const *choices, size_t n, int *value)
{
	char why[WHY_SIZE];
	int which;

	if (!text)
		return 0;
	which = keyword_match(text, choices, n, why, sizeof(why));
	if (which >= 0 && strcmp(text, choices[which]) != 0) {
		refuse(-EINVAL, why, sizeof(why), QUOTED " is abbreviated: write '%s'", text, choices[which]);
		which = -EINVAL;
	}
	if (which < 0)
		return complain_key(c, in, key, why);
	*value = which;
	return 0;
}

int take_threshold(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
		   q32_t *threshold)
{
	char why[WHY_SIZE];

	if (!text || !config_threshold(text, threshold, why, sizeof(why)))
		return 0;
	return complain_key(c, in, key, why);
}

int take_path(const struct check *c, const struct yaml_path *in, const char *key, const char *text,
	      size_t max, const char **path)
{
	char why[WHY_SIZE];

	if (!text)
		return 0;
	if (*text != '/')
		refuse(-EINVAL, why, sizeof(why), QUOTED " is no absolute path: it must begin with /", text);
	else if (strlen(text) > max)
		refuse(-EINVAL, why, sizeof(why), QUOTED " is too long: there is room for %zu bytes", text,
		       max);
	else {
		*path = text;
		return 0;
	}
	return complain_key(c, in, key, why);
}

/* The digits at *text as a number below `limit`; false if there are none, or too many. */
static bool take_digits(const char **text, uint64_t limit, uint64_t *value, unsigned int *digits)
{
	*value = 0;
	for (*digits = 0; **text >= '0' && **text <= '9'; (*text)++, (*digits)++) {
		*value = *value * 10 + (uint64_t)(**text - '0');
		if (*value >= limit)
			return false;
	}
	return *digits > 0;
}

int config_threshold(const char *text, q32_t *threshold, char *why, size_t size)
{
	uint64_t whole = 0, fraction = 0, power = 1, value;
	unsigned int digits;
	const char *at = text;
	bool good = take_digits(&at, PHI_MAX >> 32, &whole, &digits);

	if (good && *at == '.') {
		at++;
		good = take_digits(&at, 1000000000, &fraction, &digits) && digits <= DECIMALS;
		for (unsigned int i = 0; good && i < digits; i++)
			power *= 10;
	}
	if (!good || *at)
		return refuse(-EINVAL, why, size,
			      QUOTED " is no phi: write a decimal number such as 8 or 8.5, below %" PRIu64
				     " and with at most %d decimals",
			      text, (uint64_t)(PHI_MAX >> 32), DECIMALS);
	/* fraction < power <= 10^9, so the shifted fraction stays below 2^62. */
	value = (whole << 32) + ((fraction << 32) + power / 2) / power;
	if (!value)
		return refuse(-EINVAL, why, size, QUOTED " must be above 0: every silence reaches a phi of 0",
			      text);
	*threshold = value;
	return 0;
}
