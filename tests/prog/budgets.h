/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many instructions a verifier may walk through each program, on whatever kernel: a quarter more than on
 * the one that walks most of those in docs/kernels.md. The kernel gives up at a million, and long before that
 * an attach takes seconds.
 *
 * A program that goes beyond its budget is looked at before the budget is: a branch inside a loop, or a
 * pointer where an offset would do, can double the walk for nothing (docs/architecture.md, "The packet path
 * is parsed to offsets"). What is worth its price raises the budget: run `make check-kernels`, put 5/4 of the
 * program's largest count here, rounded, and the new table into docs/kernels.md, in the commit that needs it.
 */
#define BUDGETS(X)                                                                                           \
	X(kphi_xdp, 155000)                                                                                  \
	X(kphi_tc, 150000)                                                                                   \
	X(kphi_tc_ip, 140000)                                                                                \
	X(kphi_control, 4200)
