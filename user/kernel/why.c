// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

int why(struct why *w, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->text, sizeof(w->text), format, args);
	va_end(args);
	return err;
}

int why_also(struct why *w, int err, const char *format, ...)
{
	size_t length = strlen(w->text);
	va_list args;

	va_start(args, format);
	vsnprintf(w->text + length, sizeof(w->text) - length, format, args);
	va_end(args);
	return err;
}

const char *why_errno(int err)
{
	return strerror(err < 0 ? -err : err);
}

/* Root without them: a unit, or a container. */
static bool lacks_capabilities(void)
{
	static const cap_value_t needed[] = {CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON};
	cap_t ours = cap_get_proc();
	bool lacks = false;

	for (size_t i = 0; ours && i < sizeof(needed) / sizeof(*needed); i++) {
		cap_flag_value_t has = CAP_SET;

		lacks |= !cap_get_flag(ours, needed[i], CAP_EFFECTIVE, &has) && has == CAP_CLEAR;
	}
	cap_free(ours);
	return lacks;
}

const char *why_denied(int err)
{
	bool denied = err == -EPERM || err == -EACCES;

	if (denied && geteuid() != 0)
		return "run it as root (it needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)";
	if (denied && lacks_capabilities())
		return "it needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and this process has not all of "
		       "them";
	/* To root, EACCES is what the verifier says when it rejects a program. */
	return err == -EPERM ? "a security policy of this host (LSM, lockdown or seccomp) refuses bpf(2) "
			       "even to root"
			     : NULL;
}

static const char *no_pin(int err)
{
	if (err == -ENOENT)
		return ". It was removed by hand: `kphi store purge` removes the rest, then `kphi run` or "
		       "`kphi store "
		       "restore FILE` makes a new store";
	return err == -EMFILE ? ". Raise `ulimit -n`" : "";
}

int why_pin(struct why *w, int err, const char *path, const char *what)
{
	const char *denied = why_denied(err);

	return why(w, err, "%s: cannot open%s: %s%s%s", path, what, why_errno(err), denied ? "; " : "",
		   denied ?: no_pin(err));
}
