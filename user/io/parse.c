// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "io/format.h"
#include "io/utf8.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

int refuse(int error, char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return error;
}

/* Digits that isdigit() would also take in another locale are none here. */
static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* The number that `n` digits make; false if 64 bits do not hold it. */
static bool read_digits(const char *text, size_t n, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(text[i] - '0'), value))
			return false;
	}
	return true;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value, char *why, size_t size)
{
	size_t digits = count_digits(text);
	uint64_t n;
	bool fits;

	if (!digits || text[digits])
		return refuse(-EINVAL, why, size, QUOTED " is not a whole number: write digits only", text);
	fits = read_digits(text, digits, &n);
	if (fits && n >= min && n <= max) {
		*value = n;
		return 0;
	}
	return refuse(-ERANGE, why, size,
		      QUOTED " is out of range: it must be between %" PRIu64 " and %" PRIu64, text, min, max);
}

int parse_port(const char *text, uint16_t *port, char *why, size_t size)
{
	uint64_t n = 0;
	int error = parse_u64(text, 1, UINT16_MAX, &n, why, size);

	if (error)
		return refuse(error, why, size, QUOTED " is not a port: it must be between 1 and 65535",
			      text);
	*port = (uint16_t)n;
	return 0;
}

/* whole + fraction / 10^digits, without trailing zeros, and what follows the number in the text. */
struct decimal {
	uint64_t whole, fraction;
	size_t digits;
	const char *rest;
};

/*
 * -EINVAL: no decimal number. -ERANGE: the whole part does not fit 64 bits. -EDOM: so many digits in the
 * fraction that no unit here makes it whole (a unit would have to be a multiple of 2^19 or of 5^19).
 */
static int read_decimal(const char *text, struct decimal *decimal)
{
	size_t n = count_digits(text);

	*decimal = (struct decimal){.rest = text + n};
	if (!n)
		return -EINVAL;
	if (!read_digits(text, n, &decimal->whole))
		return -ERANGE;
	if (text[n] != '.')
		return 0;
	text += n + 1;
	n = count_digits(text);
	if (!n)
		return -EINVAL;
	decimal->rest = text + n;
	while (n && text[n - 1] == '0')
		n--;
	if (n > 18)
		return -EDOM;
	decimal->digits = n;
	read_digits(text, n, &decimal->fraction);
	return 0;
}

/* How many of the small ones, of which `unit` make one of the number's. -ERANGE: too many. -EDOM: not a whole
 * number. */
static int scale_decimal(const struct decimal *decimal, uint64_t unit, uint64_t *value)
{
	unsigned __int128 product = (unsigned __int128)decimal->fraction * unit; /* < 10^18 * 2^64 */
	uint64_t whole, power = 1;

	for (size_t i = 0; i < decimal->digits; i++)
		power *= 10;
	if (product % power)
		return -EDOM;
	if (__builtin_mul_overflow(decimal->whole, unit, &whole) ||
	    __builtin_add_overflow(whole, (uint64_t)(product / power), value))
		return -ERANGE;
	return 0;
}

static const struct {
	const char *name;
	uint64_t ns;
} duration_units[] = {
	{"ns", 1},          {"us", 1000},         {"ms", 1000000},       {"s", 1000000000},
	{"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
};

/* Nanoseconds in a unit; 0: no such unit. */
static uint64_t unit_ns(const char *name)
{
	for (size_t i = 0; i < LENGTH(duration_units); i++)
		if (!strcmp(name, duration_units[i].name))
			return duration_units[i].ns;
	return 0;
}

/* A limit, exactly; one with many digits also in a way that can be read. */
static const char *limit(uint64_t ns, char *text, size_t size)
{
	char exact[FORMAT_SIZE], about[FORMAT_SIZE];

	if (strlen(format_duration_exact(ns, exact)) > 8)
		snprintf(text, size, "%s (about %s)", exact, format_duration(ns, about));
	else
		snprintf(text, size, "%s", exact);
	return text;
}

static int refuse_duration(const char *text, uint64_t min_ns, uint64_t max_ns, char *why, size_t size)
{
	char min[3 * FORMAT_SIZE], max[3 * FORMAT_SIZE];

	return refuse(-ERANGE, why, size, QUOTED " is out of range: it must be between %s and %s", text,
		      limit(min_ns, min, sizeof(min)), limit(max_ns, max, sizeof(max)));
}

int parse_duration(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *ns, char *why, size_t size)
{
	struct decimal decimal;
	uint64_t n, unit = 0;
	int error = read_decimal(text, &decimal);

	if (error == -EINVAL)
		return refuse(-EINVAL, why, size,
			      QUOTED " is not a duration: write a number and a unit, such as 100ms or 1.5s",
			      text);
	if (*decimal.rest)
		unit = unit_ns(decimal.rest);
	else if (!error && !decimal.whole && !decimal.fraction)
		unit = 1;
	if (!unit && *decimal.rest)
		return refuse(-EINVAL, why, size, QUOTED " has an unknown unit: use ns, us, ms, s, m, h or d",
			      text);
	if (!unit)
		return refuse(-EINVAL, why, size,
			      QUOTED " has no unit: use ns, us, ms, s, m, h or d, as in %.20sms", text, text);
	if (!error)
		error = scale_decimal(&decimal, unit, &n);
	if (error == -EDOM)
		return refuse(-EINVAL, why, size,
			      QUOTED " is not a whole number of nanoseconds: use fewer decimals", text);
	if (error || n < min_ns || n > max_ns)
		return refuse_duration(text, min_ns, max_ns, why, size);
	*ns = n;
	return 0;
}

int parse_percent(const char *text, uint32_t *ppm, char *why, size_t size)
{
	struct decimal decimal;
	uint64_t n;
	int error = read_decimal(text, &decimal);

	if (error == -EINVAL || strcmp(decimal.rest, "%") != 0)
		return refuse(-EINVAL, why, size, QUOTED " is not a percentage: write it as 50%% or 12.5%%",
			      text);
	if (!error)
		error = scale_decimal(&decimal, 10000, &n);
	if (error == -EDOM)
		return refuse(-EINVAL, why, size, QUOTED " has more than four decimals", text);
	if (error || n > 1000000)
		return refuse(-ERANGE, why, size, QUOTED " is out of range: it must be between 0%% and 100%%",
			      text);
	*ppm = (uint32_t)n;
	return 0;
}

/* What is wrong with the characters of a name; NULL: nothing. */
static const char *name_fault(const char *text, size_t length)
{
	size_t step;
	uint32_t code;

	for (size_t at = 0; at < length; at += step) {
		step = utf8_decode(text + at, length - at, &code);
		if (!step)
			return "is not valid UTF-8";
		if (utf8_is_control(code))
			return "has a control character in it";
		if (utf8_is_blank(code) && (at == 0 || at + step == length))
			return "starts or ends with a blank";
	}
	return NULL;
}

int parse_name(const char *text, char name[KPHI_NAME_SIZE], char *why, size_t size)
{
	size_t length = strlen(text);
	const char *fault;

	if (!length)
		return refuse(-EINVAL, why, size, "a name must not be empty");
	if (length >= KPHI_NAME_SIZE)
		return refuse(-ERANGE, why, size,
			      QUOTED " is too long: a name has at most %d bytes, this has %zu", text,
			      KPHI_NAME_SIZE - 1, length);
	fault = name_fault(text, length);
	if (fault)
		return refuse(
			-EINVAL, why, size,
			QUOTED
			" %s: a name is UTF-8 text without control characters, with no blank at its ends",
			text, fault);
	memset(name, 0, KPHI_NAME_SIZE);
	memcpy(name, text, length);
	return 0;
}
