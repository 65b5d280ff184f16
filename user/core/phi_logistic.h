/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of phi.c that the models share; for them alone. */
#ifndef KPHI_CORE_PHI_LOGISTIC_H
#define KPHI_CORE_PHI_LOGISTIC_H

#include <stdint.h>

#include "phi.h"

/* From here on 10^-w is below half a unit of Q32.32. */
#define LOGISTIC_END_DECADES 10

/* log10(1 + 10^-w), both in Q60, w < LOGISTIC_END_DECADES. Non-increasing, and by less than w rises. */
uint64_t logistic(uint64_t w_q60);

/* Q4.60 to Q32.32, to the nearest. */
static inline q32_t q60_to_q32(uint64_t q60)
{
	return (q60 + (1U << 27)) >> 28;
}

#endif
