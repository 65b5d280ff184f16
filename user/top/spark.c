// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/spark.h"

#include <string.h>

#include "top/model.h"

#define EIGHTHS 8

static const char *const blocks[2][EIGHTHS + 1] = {
	{" ", "_", ".", "-", "~", "=", "+", "*", "#"},
	{" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
};

static char *add(char *at, const char *cell)
{
	size_t length = strlen(cell);

	memcpy(at, cell, length + 1);
	return at + length;
}

/* In the steps of history, so that phi 8 is 64. */
static uint32_t steps_of(uint8_t phi)
{
	return phi - 1U;
}

char *spark_line(const uint8_t *phi, size_t n, bool utf8, char *text)
{
	const uint32_t full = SPARK_FULL * TOP_PHI_STEPS;
	char *at = text;

	*at = '\0';
	for (size_t i = 0; i < n; i++) {
		uint32_t eighths = 0;

		if (phi[i] != TOP_NOTHING && steps_of(phi[i]) >= full)
			eighths = EIGHTHS;
		else if (phi[i] != TOP_NOTHING)
			eighths = 1 + steps_of(phi[i]) * (EIGHTHS - 1) / full;
		at = add(at, blocks[utf8][eighths]);
	}
	return text;
}

char *spark_chart_line(const uint8_t *phi, size_t n, uint32_t top, uint32_t row, uint32_t rows, bool utf8,
		       char *text)
{
	uint32_t below = (rows - 1 - row) * EIGHTHS; /* eighths of a line, up to this one's foot */
	uint32_t whole = top * TOP_PHI_STEPS;
	char *at = text;

	*at = '\0';
	for (size_t i = 0; i < n; i++) {
		uint32_t height = 0, here;

		/* What is there is seen, however low. */
		if (phi[i] != TOP_NOTHING) {
			height = (steps_of(phi[i]) * rows * EIGHTHS + whole - 1) / whole;
			height = height ? height : 1;
		}
		here = height > below ? height - below : 0;
		at = add(at, blocks[utf8][here < EIGHTHS ? here : EIGHTHS]);
	}
	return text;
}

uint32_t spark_chart_top(const uint8_t *phi, size_t n)
{
	uint32_t most = SPARK_FULL * TOP_PHI_STEPS;

	for (size_t i = 0; i < n; i++)
		if (phi[i] != TOP_NOTHING && steps_of(phi[i]) > most)
			most = steps_of(phi[i]);
	return (most + TOP_PHI_STEPS - 1) / TOP_PHI_STEPS;
}
