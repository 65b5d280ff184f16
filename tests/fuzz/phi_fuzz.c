// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The body of POST /api/v1/phi, and the Host header: the two that the server reads itself. The first byte
 * says which. What is accepted keeps the promises of the headers, and what is answered to it is JSON.
 */
#include <ctype.h>
#include <json-c/json.h>

#include "fuzz/fuzz.h"
#include "io/parse.h"
#include "web/host_header.h"
#include "web/phi.h"
#include "web/reply.h"

#define ANSWERED 256 /* intervals: of more than that the arithmetic would take most of the time */

static void answer(const struct phi_request *r)
{
	struct json_document d;
	struct json_object *said;
	size_t length;
	char *text;

	must(json_begin(&d));
	out_open_object(d.out, NULL);
	must(!say_phi(d.out, r));
	out_close_object(d.out);
	text = json_end(&d, &length);
	must(text && length);
	text[length - 1] = '\0'; /* the newline */
	said = json_tokener_parse(text);
	must(json_object_is_type(said, json_type_object));
	json_object_put(said);
	free(text);
}

static void body(const char *text, size_t size)
{
	static struct phi_request r;
	char why[WHY_SIZE] = "";

	if (phi_parse(&r, text, size, why, sizeof(why))) {
		must_say(why);
		return;
	}
	must(r.intervals >= 1 && r.intervals <= PHI_INTERVALS_MAX);
	must(!r.steps_count || r.steps_count == r.intervals);
	must(r.models >= 1 && r.models <= KPHI_MODELS);
	must(r.window >= KPHI_WINDOW_MIN && r.window <= KPHI_WINDOW_MAX);
	must(r.threshold.phi > 0);
	if (r.intervals <= ANSWERED)
		answer(&r);
}

/* VALUE\nOWN NAME\nFURTHER NAMES. Upper case is the same name, and a name more takes none away. */
static void host(char *text)
{
	const char *value = strsep(&text, "\n"), *own = strsep(&text, "\n"), *further = text;
	char *upper = strdup(value);

	must(upper);
	own = own ? own : "node7.example";
	for (char *at = upper; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	if (host_header_is_ours(value, own, NULL)) {
		must(host_header_is_ours(value, own, further));
		must(*value == '[' || host_header_is_ours(upper, own, NULL));
	}
	free(upper);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	if (*data == 'h')
		host(text);
	else
		body(text, size - 1);
	free(text);
	return 0;
}
