// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the programs cost this kernel's verifier, against a budget for each. */
#include "prog/budgets.h"
#include "prog/world.h"

/* Kernels tell since 5.16. */
static void within_budget(const char *name, int fd, uint32_t budget)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	printf("# verifier %s %u of %u\n", name, info.verified_insns, budget);
	assert_in_range(info.verified_insns, 1, budget);
}

static void the_verifier_keeps_to_its_budgets(void **state)
{
	struct programs programs;
	struct world world;

	(void)state;
	world_open(&world, "verifier", 4, 8);
	programs = (struct programs){.p = &world.pin, .header = world.store.header};
	if (programs_need(&programs, LOAD_XDP | LOAD_TC | LOAD_TC_IP, &world.why))
		fail_msg("%s", world.why.text);
#define X(name, budget) within_budget(#name, bpf_program__fd(programs.skeleton->progs.name), budget);
	BUDGETS(X)
#undef X
	programs_free(&programs);
	world_close(&world);
}

static void every_program_has_a_budget(void **state)
{
	struct kphi_bpf *skeleton = kphi_bpf__open();
	struct bpf_program *program;
	int programs = 0, budgets = 0;

	(void)state;
	assert_non_null(skeleton);
	bpf_object__for_each_program(program, skeleton->obj) programs++;
#define X(name, budget) budgets++;
	BUDGETS(X)
#undef X
	kphi_bpf__destroy(skeleton);
	assert_int_equal(programs, budgets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program_has_a_budget),
		cmocka_unit_test(the_verifier_keeps_to_its_budgets),
	};

	return cmocka_run_group_tests_name("verifier", tests, NULL, NULL);
}
