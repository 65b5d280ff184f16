// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/privilege.h"

#include <errno.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "io/error.h"
#include "run/privilege_filter.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof(*(a))))

/* Of the daemon and its children `net attach` and `web serve`: to load and attach; to give sockets to the
 * store's group; to serve a port below 1024. */
static const cap_value_t kept[] = {CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, CAP_CHOWN, CAP_NET_BIND_SERVICE};

/* A command that is somebody else's by now is ended when its time is over. */
static const cap_value_t kept_for_commands[] = {CAP_KILL};

static bool is_kept(cap_value_t which, bool commands)
{
	for (int i = 0; i < COUNT(kept); i++)
		if (kept[i] == which)
			return true;
	for (int i = 0; commands && i < COUNT(kept_for_commands); i++)
		if (kept_for_commands[i] == which)
			return true;
	return false;
}

/* Permitted and effective: those that it has and are to be kept. Nothing is inherited past an exec but by
 * root's rules. `keep` false: none at all. */
static int keep_capabilities(bool keep, bool commands)
{
	cap_t set = cap_get_proc(), had = set ? cap_dup(set) : NULL;
	int err = had && !cap_clear(set) ? 0 : -errno;

	for (cap_value_t i = 0; !err && keep && i < cap_max_bits(); i++) {
		cap_flag_value_t has = CAP_CLEAR;

		if (!is_kept(i, commands) || cap_get_flag(had, i, CAP_PERMITTED, &has) || has != CAP_SET)
			continue;
		if (cap_set_flag(set, CAP_PERMITTED, 1, &i, CAP_SET) ||
		    cap_set_flag(set, CAP_EFFECTIVE, 1, &i, CAP_SET))
			err = -errno;
	}
	if (!err && (cap_reset_ambient() || cap_set_proc(set)))
		err = -errno;
	cap_free(set);
	cap_free(had);
	return err;
}

/* Takes CAP_SETPCAP. Where a unit has taken that it has set the bounds, too, and no_new_privs is what holds.
 */
static void bound_capabilities(void)
{
	for (cap_value_t i = 0; i < cap_max_bits(); i++)
		if (!is_kept(i, false))
			cap_drop_bound(i);
}

/* With no_new_privs an exec as root gives nothing back. */
static int forgo_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static void complain(int err, const char *what)
{
	if (err)
		warn("%s: %s. Going on with more privileges than are needed", what, strerror(-err));
}

void privilege_settle_daemon(bool commands)
{
	if (!commands) {
		int err = forgo_new_privileges();

		bound_capabilities();
		complain(err ? err : privilege_filter_daemon(),
			 "cannot refuse system calls that are not needed");
	}
	complain(keep_capabilities(true, commands), "cannot give up capabilities");
}

void privilege_settle_server(bool unlinks)
{
	int err = forgo_new_privileges();

	complain(keep_capabilities(false, false), "cannot give up capabilities");
	complain(err ? err : privilege_filter_server(unlinks),
		 "cannot refuse system calls that are not needed");
}
