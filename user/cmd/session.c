// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/session.h"

int session_result(const struct session *s, int err)
{
	if (!err)
		return KPHI_EXIT_OK;
	fail("%s", s->why.text);
	return KPHI_EXIT_FAILED;
}

int session_read(struct session *s, const struct kphi_cli *cli)
{
	int err;

	*s = (struct session){.pin.lock = -1, .control.program = -1};
	err = pin_open(&s->pin, cli->pin, false, &s->why);
	err = err ? err : store_open(&s->store, &s->pin, &s->why);
	return session_result(s, err);
}

int session_change(struct session *s, const struct kphi_cli *cli)
{
	int err;

	*s = (struct session){.pin.lock = -1, .control.program = -1};
	err = pin_open(&s->pin, cli->pin, true, &s->why);
	err = err ? err : pin_lock(&s->pin, &s->why);
	err = err ? err : store_ensure(&s->pin, &s->why);
	err = err ? err : store_open(&s->store, &s->pin, &s->why);
	err = err ? err : control_open(&s->control, &s->pin, &s->why);
	return session_result(s, err);
}

void session_end(struct session *s)
{
	control_close(&s->control);
	store_close(&s->store);
	pin_close(&s->pin);
}
