// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "show/bfd.h"

#include <stdio.h>

#include "io/format.h"

#define NS_PER_US      1000ULL
#define DIAG_EXPIRED   1 /* control detection time expired */
#define DIAG_SIGNALLED 3 /* neighbor signaled session down */

const char *bfd_state_name(uint8_t state)
{
	static const char *const names[] = {
		[KPHI_BFD_ADMIN_DOWN] = "AdminDown",
		[KPHI_BFD_DOWN] = "Down",
		[KPHI_BFD_INIT] = "Init",
		[KPHI_BFD_UP] = "Up",
	};

	return names[state & 3];
}

const char *bfd_diagnostic_name(uint8_t diagnostic)
{
	static const char *const names[] = {
		"no diagnostic",
		"control detection time expired",
		"echo function failed",
		"neighbor signaled session down",
		"forwarding plane reset",
		"path down",
		"concatenated path down",
		"administratively down",
		"reverse concatenated path down",
	};

	return diagnostic < sizeof(names) / sizeof(*names) ? names[diagnostic] : "reserved";
}

struct bfd_conclusion bfd_conclude(const struct kphi_bfd *bfd, uint64_t local_rx_ns, uint64_t elapsed_ns)
{
	uint64_t interval_ns = bfd->desired_tx_us * NS_PER_US;
	struct bfd_conclusion c = {.is_lower_bound = !local_rx_ns};

	if (local_rx_ns > interval_ns)
		interval_ns = local_rx_ns;
	c.detection_ns = bfd->multiplier * interval_ns;
	if (kphi_bfd_is_quiet(bfd) || bfd->state == KPHI_BFD_DOWN)
		return c;
	if (elapsed_ns < c.detection_ns) {
		c.verdict = BFD_HOLDS;
		c.left_ns = c.detection_ns - elapsed_ns;
	} else {
		c.verdict = c.is_lower_bound ? BFD_MAY_BE_DOWN : BFD_IS_DOWN;
		c.past_ns = elapsed_ns - c.detection_ns;
	}
	return c;
}

const struct kphi_bfd *view_bfd(const struct view *v)
{
	bool heard = v->record.state != KPHI_WAITING && v->record.state != KPHI_FREE;

	return v->is_rule && v->rule.decoder == KPHI_DECODER_BFD && heard ? &v->record.bfd : NULL;
}

static void explain_quiet(const struct view *v, const struct kphi_bfd *b, char *text, size_t size)
{
	uint64_t said_ns = v->now_ns > v->record.last_ns ? v->now_ns - v->record.last_ns : 0;
	uint64_t for_ns = v->now_ns > v->record.since_ns ? v->now_ns - v->record.since_ns : 0;
	char since[FORMAT_SIZE], ago[FORMAT_SIZE];

	format_duration(for_ns, since);
	format_duration(said_ns, ago);
	if (b->state != KPHI_BFD_ADMIN_DOWN)
		snprintf(text, size,
			 "demand mode: packets need not come at intervals, so silence says nothing");
	else if (said_ns == for_ns)
		snprintf(text, size, "administratively down by its own operator, who said so %s ago", ago);
	else
		snprintf(text, size, "administratively down by its own operator for %s, last said %s ago",
			 since, ago);
}

/* Its own state tells how the other direction fares, of which nothing is seen here. */
static void explain_down(const struct kphi_bfd *b, char *text, size_t size)
{
	const char *why = "";

	if (b->diagnostic == DIAG_EXPIRED)
		why = ": it does not hear this end, though this end hears it";
	else if (b->diagnostic == DIAG_SIGNALLED)
		why = ": this end had told it so";
	snprintf(text, size, "its BFD session is down (%s)%s", bfd_diagnostic_name(b->diagnostic), why);
}

void bfd_explain(const struct view *v, char *text, size_t size)
{
	const struct kphi_bfd *b = view_bfd(v);

	*text = '\0';
	if (!b)
		return;
	if (kphi_bfd_is_quiet(b))
		explain_quiet(v, b, text, size);
	else if (b->state == KPHI_BFD_DOWN)
		explain_down(b, text, size);
	else if (b->state == KPHI_BFD_INIT)
		snprintf(text, size, "its BFD session is not up yet: it hears this end, and waits");
}

static void conclusion_text(const struct kphi_bfd *b, const struct bfd_conclusion *c, char *text, size_t size)
{
	const char *least = c->is_lower_bound ? "at least " : "";
	char time[FORMAT_SIZE];

	switch (c->verdict) {
	case BFD_EXPECTS_NOTHING:
		snprintf(text, size, "nothing: %s",
			 b->state == KPHI_BFD_ADMIN_DOWN ? "the session is administratively down"
			 : b->state == KPHI_BFD_DOWN     ? "the session is down"
							 : "the session is in demand mode");
		break;
	case BFD_HOLDS:
		snprintf(text, size, "up, for %sanother %s if nothing arrives", least,
			 format_duration(c->left_ns, time));
		break;
	case BFD_MAY_BE_DOWN:
		snprintf(text, size,
			 "maybe down, for %s at the earliest: what this end requires is not known "
			 "(`local-rx`)",
			 format_duration(c->past_ns, time));
		break;
	case BFD_IS_DOWN:
		snprintf(text, size, "down, for %s", format_duration(c->past_ns, time));
		break;
	}
}

static void say_conclusion(struct out *o, const struct view *v, const struct kphi_bfd *b, bool detail)
{
	uint64_t elapsed_ns = v->now_ns > v->record.last_ns ? v->now_ns - v->record.last_ns : 0;
	struct bfd_conclusion c = bfd_conclude(b, v->rule.local_rx_ns, elapsed_ns);
	const char *title = c.is_lower_bound ? "detection time, at least" : "detection time";
	char text[128];

	conclusion_text(b, &c, text, sizeof(text));
	out_duration(o, "detection_time_ns", detail ? title : NULL, c.detection_ns);
	out_bool(o, "detection_time_is_lower_bound", NULL, c.is_lower_bound);
	if (c.verdict == BFD_HOLDS || c.verdict == BFD_IS_DOWN)
		out_bool(o, "would_be_down", NULL, c.verdict == BFD_IS_DOWN);
	else
		out_null(o, "would_be_down", NULL);
	if (c.verdict == BFD_MAY_BE_DOWN || c.verdict == BFD_IS_DOWN)
		out_duration(o, "down_for_at_most_ns", NULL, c.past_ns);
	else
		out_null(o, "down_for_at_most_ns", NULL);
	out_string(o, "conclusion", detail ? "BFD would conclude" : NULL, text);
}

void say_bfd(struct out *o, const struct view *v, bool detail)
{
	const struct kphi_bfd *b = view_bfd(v);

	if (!b) {
		out_null(o, "bfd", NULL);
		return;
	}
	if (detail)
		out_text(o, "BFD, as it said last:\n");
	out_open_object(o, "bfd");
	out_string(o, "state", detail ? "session state" : NULL, bfd_state_name(b->state));
	out_string(o, "diagnostic", detail ? "diagnostic" : NULL, bfd_diagnostic_name(b->diagnostic));
	out_u64(o, "diagnostic_code", NULL, b->diagnostic);
	out_bool(o, "demand", NULL, b->flags & KPHI_BFD_DEMAND);
	out_u64(o, "multiplier", detail ? "detection multiplier" : NULL, b->multiplier);
	out_duration(o, "desired_min_tx_ns", detail ? "desired min tx interval" : NULL,
		     b->desired_tx_us * NS_PER_US);
	out_duration(o, "required_min_rx_ns", detail ? "required min rx interval" : NULL,
		     b->required_rx_us * NS_PER_US);
	if (v->rule.local_rx_ns)
		out_duration(o, "local_rx_ns", NULL, v->rule.local_rx_ns);
	else
		out_null(o, "local_rx_ns", NULL);
	out_u64(o, "discriminator", detail ? "discriminator" : NULL, b->discriminator);
	say_conclusion(o, v, b, detail);
	out_close_object(o);
}
