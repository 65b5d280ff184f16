/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One attachment on its hook, whichever that is: an XDP link, a TCX link, a clsact filter. */
#ifndef KPHI_KERNEL_HOOK_H
#define KPHI_KERNEL_HOOK_H

#include <linux/bpf.h>

#include "kernel/attach.h"
#include "kernel/load.h"

/* BPF_TCX_INGRESS: of Linux 6.6, newer than our headers. */
#define TCX_INGRESS ((enum bpf_attach_type)46)

/*
 * Puts the program on the device in the way that *a says (ifindex, netns, device, wanted, mode, hook,
 * refusal) and pins what holds it; the rest of *a follows. 0 or a negative errno: of pinning with a sentence
 * in `w`, of attaching with *pinning false and none, because its meaning depends on what else was tried.
 */
int hook_attach(const struct pin *p, struct attachment *a, int program, bool *pinning, struct why *w);

/* Whether it is there, and which program it is. */
void hook_ask(const struct pin *p, struct attachment *a);

/* Which program it takes. 0: it is in another network namespace, and cannot be asked without CAP_SYS_ADMIN.
 */
enum load_program hook_program(const struct attachment *a);

/* Another program in the place of the present one: every packet meets the old one or the new one. */
int hook_replace(const struct pin *p, const struct attachment *a, int program);

/* Off the device, at once; the pin stays. */
void hook_detach(const struct pin *p, const struct attachment *a);

/* Id of the XDP program on a device, whoever's, or 0. */
uint32_t hook_xdp_program(uint32_t ifindex);

#endif
