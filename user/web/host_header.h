/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * By what name a browser thinks that it talks to us. A hostile page can have its own name point at this host;
 * then its scripts could read what we say, were it not for that name in the header.
 */
#ifndef KPHI_WEB_HOST_HEADER_H
#define KPHI_WEB_HOST_HEADER_H

#include <stdbool.h>

/*
 * Is the value of a Host header an address, "localhost", `own` (this host's name, or its first label), or one
 * of `further` (with commas; NULL: none)? Each may have a port behind it. NULL is fine: no browser leaves the
 * header out.
 */
bool host_header_is_ours(const char *value, const char *own, const char *further);

#endif
