// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From a suspicion level and what was believed before to what is to be believed: Bayes' rule. It decides
 * nothing. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/peer_explain.h"
#include "io/parse.h"

#define BILLION  1000000000U
#define DECIMALS 9 /* of one: a part per billion is the least */

/* Digits of a fraction, at most `most` of them, as so many parts of 10^most. False: none, or too many. */
static bool take_fraction(const char **text, unsigned int most, uint64_t *value)
{
	unsigned int digits = 0;

	for (*value = 0; **text >= '0' && **text <= '9'; (*text)++, digits++)
		if (digits < most)
			*value = *value * 10 + (uint64_t)(**text - '0');
		else if (**text != '0')
			return false;
	for (unsigned int i = digits; i < most; i++)
		*value *= 10;
	return digits > 0;
}

int prior_parse(const char *text, uint32_t *ppb, char *why, size_t size)
{
	size_t length = strlen(text), whole_digits = strspn(text, "0123456789");
	bool percent = length && text[length - 1] == '%';
	unsigned int decimals = percent ? DECIMALS - 2 : DECIMALS;
	uint64_t whole = 0, fraction = 0, one = percent ? BILLION / 100 : BILLION;
	const char *at = text + whole_digits;
	bool good = whole_digits > 0;

	for (size_t i = 0; i < whole_digits; i++)
		whole = whole > 100 ? whole : whole * 10 + (uint64_t)(text[i] - '0');
	if (good && *at == '.') {
		at++;
		good = take_fraction(&at, decimals, &fraction);
		if (!good && isdigit((unsigned char)*at))
			return refuse(-EINVAL, why, size,
				      QUOTED " has too many decimals: a probability may have %d of them, a "
					     "percentage %d",
				      text, DECIMALS, DECIMALS - 2);
	}
	if (!good || strcmp(at, percent ? "%" : "") != 0)
		return refuse(-EINVAL, why, size,
			      QUOTED " is no probability: write a decimal number such as 0.0001, or a "
				     "percentage such as 0.01%%",
			      text);
	whole = whole * one + fraction;
	if (!whole || whole >= BILLION)
		return refuse(-EINVAL, why, size,
			      QUOTED " must be above 0 and below 1 (100%%): who is certain beforehand learns "
				     "nothing from a silence",
			      text);
	*ppb = (uint32_t)whole;
	return 0;
}

char *prior_format(uint32_t ppb, char *text, size_t size)
{
	size_t length;

	snprintf(text, size, "%u.%07u", ppb / (BILLION / 100), ppb % (BILLION / 100));
	for (length = strlen(text); text[length - 1] == '0'; length--)
		text[length - 1] = '\0';
	if (text[length - 1] == '.')
		text[--length] = '\0';
	snprintf(text + length, size - length, "%%");
	return text;
}

double prior_posterior(uint32_t ppb, q32_t phi)
{
	double p = (double)ppb / BILLION;

	return p / (p + (1 - p) * pow(10, -(double)phi / (double)Q32_ONE));
}
