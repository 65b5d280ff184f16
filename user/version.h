/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_USER_VERSION_H
#define KPHI_USER_VERSION_H

#define KPHI_VERSION "0.1.0"

#endif
