// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a running kphi knows of its devices: real ones, in a network namespace of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "kernel/devices.h"
#include "kernel/load.h"
#include "kernel/store.h"

#define NEWS_MAX 32

static struct {
	struct pin pin;
	struct store store;
	struct devices *devices;
	char news[NEWS_MAX][64]; /* "carrier begun eth0" */
	unsigned int said;
	unsigned int attached_again;
} t;

__attribute__((format(printf, 1, 2))) static void ip(const char *format, ...)
{
	char words[256], command[300];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	snprintf(command, sizeof(command), "ip %s", words);
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void attach(const char *device)
{
	struct attachment a;
	struct why w;

	if (attach_device(&t.pin, &t.store, device, ATTACH_AUTO, &a, &w))
		fail_msg("%s", w.text);
}

static int attach_again(void *context, const char *device, enum attach_mode mode)
{
	assert_null(context);
	assert_int_equal(mode, ATTACH_AUTO); /* as it was asked for */
	attach(device);
	t.attached_again++;
	return 0;
}

static void hear(void *context, const struct event *e)
{
	assert_null(context);
	assert_true(t.said < NEWS_MAX);
	assert_non_null(e->detail);
	snprintf(t.news[t.said++], sizeof(t.news[0]), "%s %s %s", e->type == EVENT_hook ? "hook" : "carrier",
		 e->cause == CAUSE_BEGUN ? "begun" : "ended", e->subject);
}

/* Everything that was said since the last time, with commas between. */
static void assert_said(const char *expected)
{
	char all[NEWS_MAX * 66] = "";

	for (unsigned int i = 0; i < t.said; i++)
		sprintf(all + strlen(all), "%s%s", i ? ", " : "", t.news[i]);
	t.said = 0;
	assert_string_equal(all, expected);
}

static int check(void)
{
	return devices_check(t.devices, clock_monotonic_ns(), hear, NULL);
}

/* Reads rtnetlink until nothing comes for a while: carriers come and go a little later than the command ends.
 */
static void dispatch(void)
{
	struct pollfd p = {.fd = devices_fd(t.devices), .events = POLLIN};

	while (poll(&p, 1, 200) == 1)
		assert_true(devices_dispatch(t.devices, clock_monotonic_ns(), hear, NULL) >= 0);
}

static struct kphi_record heard_on(const char *device, const char *other)
{
	struct kphi_record r = {.state = KPHI_UP, .last_ns = 100000000000, .window.interval_ns = 1000000000};

	r.device = if_nametoindex(device);
	r.other_device = other ? if_nametoindex(other) : 0;
	r.other_ns = r.last_ns - 2 * r.window.interval_ns;
	return r;
}

static struct engine_hearing hearing(const struct kphi_record *r)
{
	return devices_hearing(t.devices, r, clock_monotonic_ns());
}

static int begin(void **state)
{
	struct store_size size = {.peers = 16, .window = 8};
	struct why w;

	(void)state;
	if (unshare(CLONE_NEWNET))
		return -1;
	ip("link add eth0 type veth peer name far0");
	ip("link add eth1 type veth peer name far1");
	for (const char *const *device = (const char *const[]){"eth0", "far0", "eth1", "far1", NULL}; *device;
	     device++)
		ip("link set %s up", *device);
	t.said = t.attached_again = 0;
	if (pin_open(&t.pin, getenv("KPHI_PIN"), true, &w) || pin_lock(&t.pin, &w) ||
	    store_create(&t.pin, &size, NULL, &w) || store_open(&t.store, &t.pin, &w)) {
		print_error("%s\n", w.text);
		return -1;
	}
	attach("eth0");
	t.devices = devices_new(&t.pin, &w);
	assert_non_null(t.devices);
	assert_true(check() >= 0);
	dispatch();
	t.said = 0;
	return 0;
}

static int end(void **state)
{
	struct why w;

	(void)state;
	devices_free(t.devices);
	store_close(&t.store);
	if (pin_purge(&t.pin, NULL, &w))
		print_error("%s\n", w.text);
	pin_close(&t.pin);
	return 0;
}

static void carrier(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);
	uint64_t before_ns;

	(void)state;
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
	ip("link set far0 down");
	dispatch();
	assert_said("carrier begun eth0");
	assert_int_equal(hearing(&r).blind, CAUSE_CARRIER);
	assert_int_equal(check(), 0);

	before_ns = clock_monotonic_ns();
	ip("link set far0 up");
	dispatch();
	assert_said("carrier ended eth0");
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
	assert_true(hearing(&r).since_ns >= before_ns);
}

static void set_down(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);

	(void)state;
	ip("link set eth0 down");
	dispatch();
	assert_said("carrier begun eth0");
	assert_int_equal(hearing(&r).blind, CAUSE_CARRIER);
	assert_string_equal(devices_view(t.devices, 0).reason, "the device is set down");
}

static void deaf_at_the_start(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);
	struct why w;

	(void)state;
	ip("link set far0 down");
	devices_free(t.devices);
	usleep(100000);
	t.devices = devices_new(&t.pin, &w);
	assert_int_equal(hearing(&r).blind, CAUSE_CARRIER);
	assert_int_equal(check(), 1);
	assert_said("carrier begun eth0");
}

static void attach_time(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);
	uint64_t since_ns = hearing(&r).since_ns, now_ns = clock_monotonic_ns();

	(void)state;
	assert_true(since_ns < now_ns && now_ns - since_ns < 10000000000);
}

/* What `bpftool link detach` does. */
static void robbed(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);
	struct attachment a;
	struct why w;
	int link;

	(void)state;
	attach_device(&t.pin, &t.store, "eth0", ATTACH_AUTO, &a, &w);
	link = bpf_obj_get(a.pin);
	assert_int_equal(bpf_link_detach(link), 0);
	close(link);
	devices_on_return(t.devices, attach_again, NULL);
	assert_int_equal(check(), 1);
	assert_said("hook begun eth0");
	assert_int_equal(t.attached_again, 0);
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
	assert_string_equal(devices_view(t.devices, 0).reason, "the program was taken off the device");
	attach("eth0");
	assert_int_equal(check(), 1);
	assert_said("hook ended eth0");
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
}

static void detached(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL), waiting = {.state = KPHI_WAITING};
	struct why w;

	(void)state;
	assert_int_equal(attach_detach(&t.pin, "eth0", &w), 0);
	assert_int_equal(check(), 1);
	assert_said("hook begun eth0");
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
	assert_int_equal(hearing(&waiting).blind, CAUSE_HOOK);
	attach("eth1"); /* another ear does not make the first one hear */
	assert_int_equal(check(), 0);
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
	assert_int_equal(hearing(&waiting).blind, CAUSE_NONE);
}

static void vanish_and_return(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);
	uint64_t before_ns;

	(void)state;
	devices_on_return(t.devices, attach_again, NULL);
	ip("link del eth0");
	dispatch();
	assert_int_equal(t.attached_again, 0);
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
	assert_string_equal(devices_view(t.devices, 0).reason, "the device has vanished");
	t.said = 0; /* whether the carrier went first is the kernel's business */

	before_ns = clock_monotonic_ns();
	ip("link add new type veth peer name far0");
	ip("link set far0 up");
	ip("link set new name eth0 up");
	dispatch();
	assert_int_equal(t.attached_again, 1);
	assert_int_equal(hearing(&r).blind, CAUSE_NONE); /* by its old number */
	assert_true(hearing(&r).since_ns >= before_ns);
	r = heard_on("eth0", NULL);
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
	assert_int_equal(devices_count(t.devices), 1);
	assert_int_equal(check(), 0);
}

static struct kphi_record overdue_on(const char *device)
{
	struct kphi_record r = heard_on(device, NULL);

	r.last_ns = clock_monotonic_ns() - 3 * r.window.interval_ns;
	return r;
}

/* A verdict does not wait for the check of the second, nor for news that have not been read. */
static void made_sure_of(void **state)
{
	struct kphi_record r = overdue_on("eth0"), punctual = overdue_on("eth0");
	uint64_t before_ns;
	struct why w;

	(void)state;
	punctual.last_ns = clock_monotonic_ns() + 1000000000;
	ip("link set far0 down");
	assert_int_equal(hearing(&punctual).blind, CAUSE_NONE);
	assert_int_equal(hearing(&r).blind, CAUSE_CARRIER);
	assert_said("");
	usleep(10000);
	before_ns = clock_monotonic_ns();
	ip("link set far0 up");
	usleep(10000);
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
	assert_true(hearing(&r).since_ns >= before_ns); /* though nobody was told that it had been deaf */

	assert_int_equal(attach_detach(&t.pin, "eth0", &w), 0);
	usleep(10000);
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
	assert_int_equal(check(), 1);
	dispatch();
	assert_said("hook begun eth0");
}

/* Without a loop that attaches, the news is at least not lost. */
static void vanish_for_good(void **state)
{
	(void)state;
	ip("link set far0 down");
	dispatch();
	assert_said("carrier begun eth0");
	ip("link del eth0");
	dispatch();
	assert_said("hook begun eth0");
	ip("link add eth0 type veth peer name far0");
	dispatch();
	assert_said("");
	assert_int_equal(devices_view(t.devices, 0).deaf, CAUSE_HOOK);
}

static void two_ways(void **state)
{
	struct kphi_record both, first, waiting = {.state = KPHI_WAITING};

	(void)state;
	attach("eth1");
	assert_int_equal(check(), 0);
	both = heard_on("eth0", "eth1");
	first = heard_on("eth0", "eth1");
	first.other_ns = first.last_ns - 11 * first.window.interval_ns;
	ip("link set far0 down");
	dispatch();
	assert_int_equal(hearing(&both).blind, CAUSE_NONE);
	assert_int_equal(hearing(&first).blind, CAUSE_CARRIER);
	assert_int_equal(hearing(&waiting).blind, CAUSE_NONE);
	ip("link set far1 down");
	dispatch();
	assert_int_equal(hearing(&both).blind, CAUSE_CARRIER);
	assert_int_equal(hearing(&waiting).blind, CAUSE_CARRIER);
	ip("link set far0 up");
	dispatch();
	assert_int_equal(hearing(&both).blind, CAUSE_NONE);
	assert_int_equal(hearing(&both).since_ns, hearing(&first).since_ns);
	assert_int_equal(hearing(&waiting).since_ns, hearing(&first).since_ns);
}

static void unknown_way(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);

	(void)state;
	ip("link set far0 down");
	dispatch();
	r.device = 4711;
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
	assert_int_equal(hearing(&r).since_ns, 0);
}

/* A daemon that starts after a detach has never seen the link; the device is there all the same. */
static void way_that_is_not_attached(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);

	(void)state;
	r.device = if_nametoindex("far0");
	assert_true(r.device);
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
}

/* Native XDP on a bond runs on its members, and names them. */
static void members(void **state)
{
	struct kphi_record r = heard_on("eth1", NULL);

	(void)state;
	ip("link add br0 type bridge");
	ip("link set br0 up");
	attach("br0");
	ip("link set eth1 master br0");
	check();
	dispatch();
	t.said = 0; /* a bridge has no carrier until it has a port, or some time after */
	assert_int_equal(hearing(&r).blind, CAUSE_NONE);
	ip("link set br0 down");
	dispatch();
	assert_int_equal(hearing(&r).blind, CAUSE_CARRIER);
	t.said = 0;
	ip("link set eth1 nomaster"); /* a "deleted link" of the bridge's family */
	dispatch();
	assert_said("");
}

/* More news than the socket holds: all is asked for again. */
static void overrun(void **state)
{
	int small = 1;

	(void)state;
	assert_int_equal(setsockopt(devices_fd(t.devices), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	for (int i = 0; i < 20; i++)
		ip("link set far1 %s", i & 1 ? "up" : "down");
	ip("link set far0 down");
	usleep(100000);
	assert_int_equal(devices_dispatch(t.devices, clock_monotonic_ns(), hear, NULL), 1);
	assert_said("carrier begun eth0");
}

static void purged(void **state)
{
	struct kphi_record r = heard_on("eth0", NULL);
	struct store_size size = {.peers = 16, .window = 8};
	struct why w;

	(void)state;
	assert_int_equal(pin_purge(&t.pin, NULL, &w), 0);
	assert_int_equal(check(), 1);
	assert_said("hook begun eth0");
	assert_int_equal(hearing(&r).blind, CAUSE_HOOK);
	assert_int_equal(store_create(&t.pin, &size, NULL, &w), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(carrier),           CASE(set_down),     CASE(deaf_at_the_start),
		CASE(attach_time),       CASE(robbed),       CASE(detached),
		CASE(vanish_and_return), CASE(made_sure_of), CASE(vanish_for_good),
		CASE(two_ways),          CASE(unknown_way),  CASE(way_that_is_not_attached),
		CASE(members),           CASE(overrun),      CASE(purged),
	};

	load_quiet();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
