/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looking for one finding among those of a judge. */
#ifndef KPHI_TESTS_DOCTOR_FINDINGS_H
#define KPHI_TESTS_DOCTOR_FINDINGS_H

#include <string.h>

#include "doctor/judge.h"

/* The only one of this check, or the test fails. */
static const struct finding *find_one(const struct findings *f, const char *subject, const char *check)
{
	const struct finding *found = NULL;

	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->list[i].check, check) != 0 || strcmp(f->list[i].subject, subject) != 0)
			continue;
		if (found)
			fail_msg("%s: two findings", check);
		found = &f->list[i];
	}
	if (!found)
		fail_msg("%s: no finding", check);
	return found;
}

static void expect_finding(const struct findings *f, const char *subject, const char *check,
			   enum finding_status status, const char *fragment)
{
	const struct finding *found = find_one(f, subject, check);

	if (found->status != status || !strstr(found->text, fragment))
		fail_msg("%s: status %d \"%s\", expected %d with \"%s\"", check, found->status, found->text,
			 status, fragment);
	/* What is wrong has a remedy; what fits in no buffer would be cut. */
	if (status == FINDING_FAIL && !*found->remedy)
		fail_msg("%s: no remedy for \"%s\"", check, found->text);
	assert_true(strlen(found->text) < FINDING_TEXT - 1 && strlen(found->remedy) < FINDING_TEXT - 1);
}

static inline void expect_remedy(const struct device_facts *d, const struct host_facts *h, const char *check,
				 const char *fragment)
{
	struct findings f = {0};
	const struct finding *found;

	judge_device(&f, d, h);
	found = find_one(&f, d->link.name, check);
	if (!strstr(found->remedy, fragment))
		fail_msg("%s: remedy \"%s\", expected \"%s\"", check, found->remedy, fragment);
	findings_free(&f);
}

#endif
