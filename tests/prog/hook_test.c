// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The clsact filter, for which this kernel may be too new to be given one by the ladder: on a real device, in
 * a network namespace of the test's own, beside somebody else's filters. */
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kernel/attach.h"
#include "kernel/attach_pin.h"
#include "kernel/clsact.h"
#include "kernel/hook.h"
#include "kernel/netns.h"
#include "prog/world.h"

static struct world world;
static struct programs programs;
static uint32_t ifindex;

__attribute__((format(printf, 1, 2))) static int sh(const char *format, ...)
{
	char command[300];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

static void load(struct programs *g)
{
	*g = (struct programs){.p = &world.pin, .header = world.store.header};
	if (programs_need(g, LOAD_TC, &world.why))
		fail_msg("%s", world.why.text);
}

static struct attachment attach(void)
{
	struct attachment a = {.device = "eth0",
			       .netns = netns_here(),
			       .ifindex = ifindex,
			       .hook = HOOK_CLSACT,
			       .mode = ATTACH_TC,
			       .refusal = -EOPNOTSUPP,
			       .here = true};
	bool pinning;

	if (hook_attach(&world.pin, &a, programs_fd(&programs, LOAD_TC), &pinning, &world.why))
		fail_msg("cannot attach: %s", pinning ? world.why.text : "refused");
	return a;
}

static int take(const struct attachment *a, void *context)
{
	*(struct attachment *)context = *a;
	return 1;
}

/* As the next command would find it. */
static struct attachment found(void)
{
	struct attachment a = {0};

	assert_int_equal(attach_each(&world.pin, take, &a, &world.why), 1);
	return a;
}

static bool has_qdisc(void)
{
	return !sh("tc qdisc show dev eth0 clsact | grep -q clsact");
}

static uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	return info.id;
}

static void life(void **state)
{
	struct attachment a = attach(), b = found();

	(void)state;
	assert_true(a.alive && a.known && a.own_qdisc);
	assert_int_equal(a.priority, 1);
	assert_int_equal(a.program_id, program_id(programs_fd(&programs, LOAD_TC)));
	assert_int_equal(a.link_id, 0);
	assert_string_equal(b.pin, a.pin);
	assert_true(b.alive && b.own_qdisc && b.hook == HOOK_CLSACT && b.mode == ATTACH_TC);
	assert_int_equal(b.refusal, -EOPNOTSUPP);
	assert_int_equal(b.program_id, a.program_id);
	assert_int_equal(attach_detach(&world.pin, "eth0", &world.why), 0);
	assert_int_equal(clsact_program(ifindex, 1), 0);
	assert_false(has_qdisc());
}

/* Another binary's program, in one step, and the pin is that one's. */
static void exchanged(void **state)
{
	struct attachment a = attach(), b;
	struct programs newer;

	(void)state;
	load(&newer);
	assert_int_equal(hook_replace(&world.pin, &a, programs_fd(&newer, LOAD_TC)), 0);
	b = found();
	assert_true(b.alive);
	assert_int_equal(b.program_id, program_id(programs_fd(&newer, LOAD_TC)));
	assert_string_equal(b.pin, a.pin);
	/* Cut short between filter and pin: it is still told for ours. */
	assert_int_equal(clsact_replace(ifindex, 1, programs_fd(&programs, LOAD_TC)), 0);
	b = found();
	assert_true(b.alive);
	assert_int_equal(b.program_id, program_id(programs_fd(&programs, LOAD_TC)));
	programs_free(&newer);
	assert_int_equal(attach_detach(&world.pin, "eth0", &world.why), 0);
}

/* Somebody else's filter stays, and so does the qdisc that it hangs on, whoever made that. */
static void beside_others(void **state)
{
	struct attachment a = attach();

	(void)state;
	assert_int_equal(
		sh("tc filter add dev eth0 egress prio 7 protocol all u32 match u32 0 0 classid 1:1"), 0);
	hook_detach(&world.pin, &a);
	unlink(a.pin);
	assert_true(has_qdisc());
	assert_int_equal(sh("tc filter show dev eth0 egress | grep -q u32"), 0);
	a = attach();
	assert_false(a.own_qdisc);
	hook_detach(&world.pin, &a);
	unlink(a.pin);
	assert_true(has_qdisc());
	assert_int_equal(sh("tc filter show dev eth0 egress | grep -q u32"), 0);
	assert_int_equal(sh("tc qdisc del dev eth0 clsact"), 0);
}

/* The first priority is another kind's: the next one is ours. */
static void priority_taken(void **state)
{
	struct attachment a;

	(void)state;
	assert_int_equal(sh("tc qdisc add dev eth0 clsact"), 0);
	assert_int_equal(
		sh("tc filter add dev eth0 ingress prio 1 protocol all u32 match u32 0 0 classid 1:1"), 0);
	a = attach();
	assert_int_equal(a.priority, 2);
	assert_int_equal(found().priority, 2);
	assert_int_equal(attach_detach(&world.pin, "eth0", &world.why), 0);
	assert_int_equal(sh("tc filter show dev eth0 ingress | grep -q u32"), 0);
	assert_int_equal(sh("tc qdisc del dev eth0 clsact"), 0);
}

/* Taken off by force, with its qdisc; and a pin that somebody removed leaves a filter that is taken over. */
static void robbed(void **state)
{
	struct attachment a = attach();

	(void)state;
	assert_int_equal(sh("tc qdisc del dev eth0 clsact"), 0);
	assert_false(found().alive);
	unlink(a.pin);
	a = attach();
	unlink(a.pin);
	a = attach();
	assert_int_equal(a.priority, 1);
	assert_true(a.alive);
	assert_int_equal(attach_detach(&world.pin, "eth0", &world.why), 0);
	assert_true(has_qdisc()); /* whose it was went with the first pin */
	assert_int_equal(sh("tc qdisc del dev eth0 clsact"), 0);
}

/* A filter in another network namespace: not to be asked, but to be exchanged and taken off. */
static void elsewhere(void **state)
{
	struct attachment a = attach(), b;
	int there = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), from;
	struct programs newer;
	uint32_t id;

	(void)state;
	assert_true(there >= 0);
	sh("mkdir -p /run/netns && touch /run/netns/hook-test && mount --bind /proc/%d/ns/net "
	   "/run/netns/hook-test",
	   getpid());
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	b = found();
	assert_false(b.here || b.known);
	load(&newer);
	id = program_id(programs_fd(&newer, LOAD_TC));
	assert_int_equal(hook_replace(&world.pin, &b, programs_fd(&newer, LOAD_TC)), 0);
	assert_int_equal(clsact_program(ifindex, 1), 0); /* not here */
	programs_free(&newer);
	from = netns_enter(a.netns);
	assert_true(from >= 0);
	assert_int_equal(clsact_program(ifindex, 1), id);
	netns_return(from);
	attach_abandon(&world.pin, NULL);
	assert_int_equal(setns(there, CLONE_NEWNET), 0);
	assert_int_equal(clsact_program(ifindex, 1), 0);
	assert_false(has_qdisc());
	close(there);
	sh("umount /run/netns/hook-test; rm /run/netns/hook-test");
	unlink(a.pin);
}

/* --- names --- */

static void names(void **state)
{
	static const struct attachment all[] = {
		{.device = "eth0", .netns = 4026531840, .ifindex = 2, .mode = ATTACH_NATIVE},
		{.device = "a-b.7", .netns = 1, .ifindex = 3, .wanted = ATTACH_NATIVE, .mode = ATTACH_NATIVE},
		{.device = "t",
		 .netns = 1,
		 .ifindex = 4,
		 .mode = ATTACH_TC,
		 .hook = HOOK_TCX,
		 .refusal = -EBUSY},
		{.device = "t",
		 .netns = 1,
		 .ifindex = 4,
		 .wanted = ATTACH_TC,
		 .mode = ATTACH_TC,
		 .hook = HOOK_TCX},
		{.device = "c",
		 .netns = 1,
		 .ifindex = 5,
		 .mode = ATTACH_TC,
		 .hook = HOOK_CLSACT,
		 .refusal = -EOPNOTSUPP,
		 .own_qdisc = true,
		 .priority = 1},
		{.device = "c",
		 .netns = 1,
		 .ifindex = 5,
		 .wanted = ATTACH_TC,
		 .mode = ATTACH_TC,
		 .hook = HOOK_CLSACT,
		 .priority = 8},
		{.device = "g", .netns = 1, .ifindex = 6, .mode = ATTACH_GENERIC, .refusal = -ERANGE},
		{.device = "g", .netns = 1, .ifindex = 6, .wanted = ATTACH_GENERIC, .mode = ATTACH_GENERIC},
	};
	static const char *const none[] = {"new", "1-2-x-eth0", "1-2-an", "1-2-an5x-eth0", "1-2-qn-eth0", ""};
	struct attachment a, b;

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		a = all[i];
		attach_pin_path(&world.pin, &a);
		assert_true(attach_pin_parse(strrchr(a.pin, '/') + 1, &b));
		memset(a.pin, 0, sizeof(a.pin));
		assert_memory_equal(&a, &b, sizeof(a));
	}
	for (size_t i = 0; i < COUNT(none); i++)
		assert_false(attach_pin_parse(none[i], &b));
}

static int begin(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET))
		return -1;
	world_open(&world, "hook", 16, 100);
	load(&programs);
	if (sh("ip link add eth0 type veth peer name far0 && ip link set eth0 up && ip link set far0 up"))
		return -1;
	ifindex = if_nametoindex("eth0");
	return 0;
}

static int end(void **state)
{
	(void)state;
	programs_free(&programs);
	world_close(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(life),   cmocka_unit_test(exchanged), cmocka_unit_test(beside_others),
		cmocka_unit_test(robbed), cmocka_unit_test(elsewhere), cmocka_unit_test(priority_taken),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
