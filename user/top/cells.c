// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/models.h"
#include "io/format.h"
#include "top/spark.h"

#define MODEL_SHORT 4

const char *cell_state(const struct top_row *row)
{
	return row->muted ? "muted" : model_state_name(row->state);
}

char *cell_phi(const struct top_row *row, char text[CELL_SIZE])
{
	uint32_t whole = (uint32_t)(row->phi >> 32);
	char number[FORMAT_SIZE];

	if (!row->judged)
		snprintf(text, CELL_SIZE, "-");
	else if (whole >= 9999999)
		snprintf(text, CELL_SIZE, ">=1e7");
	else
		snprintf(text, CELL_SIZE, "%s", format_q32(row->phi, whole < 999 ? 3 : 0, number));
	return text;
}

static void duration(uint64_t ns, bool known, char *text)
{
	char number[FORMAT_SIZE];

	snprintf(text, CELL_SIZE, "%s", known ? format_duration(ns, number) : "-");
}

/* In percent with two decimals, which is what six columns bear. */
static void loss(const struct top_row *row, char *text)
{
	if (row->numbered)
		snprintf(text, CELL_SIZE, "%" PRIu32 ".%02" PRIu32 "%%", row->loss_ppm / 10000,
			 row->loss_ppm / 100 % 100);
	else
		snprintf(text, CELL_SIZE, "-");
}

static void history(const struct top_model *m, const struct top_row *row, uint32_t width, bool utf8,
		    char *text)
{
	uint8_t phi[CELL_SIZE / SPARK_CELL];

	width = width < sizeof(phi) - 1 ? width : (uint32_t)sizeof(phi) - 1;
	model_past(m, row->slot, phi, width);
	spark_line(phi, width, utf8, text);
}

char *cell_text(const struct top_model *m, const struct top_look *look, const struct top_row *row,
		enum top_column column, uint32_t width, bool utf8, char text[CELL_SIZE])
{
	char names[SAMPLE_NAMES];
	uint32_t bits = row->consumers ? row->consumers : row->held;

	switch (column) {
	case COLUMN_STATE:
		if (width > 1)
			snprintf(text, CELL_SIZE, "%s", cell_state(row));
		else
			snprintf(text, CELL_SIZE, "%c", row->muted ? 'm' : model_state_letter(row->state));
		break;
	case COLUMN_PEER:
		snprintf(text, CELL_SIZE, "%s", row->name);
		break;
	case COLUMN_HOST:
		snprintf(text, CELL_SIZE, "%s", *row->host ? row->host : "-");
		break;
	case COLUMN_PHI:
		return cell_phi(row, text);
	case COLUMN_MODEL:
		snprintf(text, CELL_SIZE, "%.*s", width < LAYOUT_MODEL ? MODEL_SHORT : CELL_SIZE - 1,
			 model_name(row->model));
		break;
	case COLUMN_HISTORY:
		history(m, row, width, utf8, text);
		break;
	case COLUMN_SILENCE:
		duration(row->silence_ns, row->state != TOP_WAITING, text);
		break;
	case COLUMN_IN:
		duration(row->suspect_in_ns, row->suspect_in_ns != UINT64_MAX, text);
		break;
	case COLUMN_MEAN:
		duration(row->mean_ns, row->mean_ns, text);
		break;
	case COLUMN_STDDEV:
		duration(row->stddev_ns, row->mean_ns, text);
		break;
	case COLUMN_LOSS:
		loss(row, text);
		break;
	case COLUMN_BEATS:
		snprintf(text, CELL_SIZE, "%" PRIu64, row->beats);
		break;
	case COLUMN_CONSUMERS:
		sample_consumers(look, bits, names);
		snprintf(text, CELL_SIZE, "%s%s%s", row->consumers || !bits ? "" : "(", *names ? names : "-",
			 row->consumers || !bits ? "" : ")");
		break;
	default:
		snprintf(text, CELL_SIZE, "%s", *row->reason ? row->reason : "-");
	}
	return text;
}

struct layout_wish cells_wish(const struct top_model *m, uint32_t first, uint32_t count, bool utf8)
{
	struct layout_wish wish = {.consumers = m->any_consumer};

	for (uint32_t i = first; i < m->rows && i < first + count; i++) {
		const struct top_row *row = &m->row[m->shown[i]];
		uint32_t name = layout_width(row->name, utf8), host = layout_width(row->host, utf8);

		wish.name = name > wish.name ? name : wish.name;
		wish.host = host > wish.host ? host : wish.host;
	}
	/* The column stays while one scrolls past those who have no label. */
	if (m->any_host && !wish.host)
		wish.host = 1;
	return wish;
}

char *cell_daemon(const struct top_look *look, char text[CELL_SIZE])
{
	if (look->lives)
		snprintf(text, CELL_SIZE, "daemon %" PRIu32, look->daemon.pid);
	else
		snprintf(text, CELL_SIZE, "no daemon");
	return text;
}

void cells_head(const struct top_model *m, const struct top_look *look, char head[HEADS][CELL_SIZE])
{
	uint32_t suspect = m->count[TOP_SUSPECT] + m->count[TOP_DOWN];
	char host[256];

	if (gethostname(host, sizeof(host)))
		snprintf(host, sizeof(host), "?");
	host[sizeof(host) - 1] = '\0';
	snprintf(head[HEAD_HOST], CELL_SIZE, "kphi on %s", host);
	snprintf(head[HEAD_PEERS], CELL_SIZE, "%" PRIu32 " of %" PRIu32 " peers%s", m->peers, look->capacity,
		 look->busy ? ", some busy" : "");
	snprintf(head[HEAD_SUSPECT], CELL_SIZE, "%" PRIu32 " suspect", suspect);
	snprintf(head[HEAD_HELD], CELL_SIZE, "%" PRIu32 " held", m->count[TOP_HELD]);
	snprintf(head[HEAD_BLIND], CELL_SIZE, "%" PRIu32 " blind", m->count[TOP_BLIND]);
}
