/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the doctor has to say: a list of findings, each with its check, its subject and what to do. */
#ifndef KPHI_DOCTOR_FINDINGS_H
#define KPHI_DOCTOR_FINDINGS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unknown: it could not be asked, and the text says why. */
enum finding_status { FINDING_OK, FINDING_WARN, FINDING_FAIL, FINDING_UNKNOWN };

#define FIGURES      8
#define FINDING_TEXT 512

enum figure_kind { FIGURE_NUMBER, FIGURE_DURATION, FIGURE_BOOL, FIGURE_TEXT };

struct figure {
	const char *key; /* snake_case, with the unit */
	enum figure_kind kind;
	uint64_t value;
	char text[64];
};

struct finding {
	const char *check; /* snake_case; stays what it is */
	char subject[IFNAMSIZ]; /* "host", or a device */
	enum finding_status status;
	char text[FINDING_TEXT]; /* no full stop at the end */
	char remedy[FINDING_TEXT]; /* likewise; "" if there is nothing to do */
	struct figure figures[FIGURES];
	size_t figures_count;
};

struct findings {
	struct finding *list;
	size_t n, room;
	struct finding spare; /* takes what there was no memory for */
	bool incomplete; /* there was something it had to take */
};

void findings_free(struct findings *f);

/* A new one, never NULL. Good until the next is added. */
struct finding *finding_add(struct findings *f, const char *subject, const char *check,
			    enum finding_status status, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

void finding_remedy(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_number(struct finding *f, const char *key, uint64_t value);
void finding_duration(struct finding *f, const char *key, uint64_t ns);
void finding_bool(struct finding *f, const char *key, bool value);
void finding_text(struct finding *f, const char *key, const char *value);

bool findings_any(const struct findings *f, enum finding_status status);

#endif
