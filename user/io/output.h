/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text for people and JSON for programs, from one call: each fact is said once, with its JSON key and its
 * text title, so that the two outputs cannot drift apart.
 *
 * JSON is written as it is said and never held, so a listing of 100,000 peers costs no memory. Text is
 * written at once too, save for tables, which are kept until they close because a column is as wide as its
 * widest cell.
 *
 * The same nesting is checked in both modes: a container opened or closed out of place is a bug and aborts,
 * in text mode as well, so that a test of the one finds the mistake in the other.
 */
#ifndef KPHI_IO_OUTPUT_H
#define KPHI_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum out_mode { OUT_TEXT, OUT_JSON, OUT_PRETTY };

struct out;

/*
 * One document on `stream`, which stays the caller's. NULL if there is no memory. JSON lines are several
 * documents, one after the other, on the same stream.
 */
struct out *out_new(FILE *stream, enum out_mode mode);

/*
 * Closes what is still open, flushes, frees. 0, or the first error met since out_new(): -EPIPE, -ENOSPC,
 * -ENOMEM and the like. Under JSON the stream has then got exactly one valid document: {} if nothing was
 * opened, and nothing if out_error() has already put its document on stdout. `o` may be NULL: -ENOMEM.
 */
int out_finish(struct out *o);

/*
 * Containers. `key` counts inside an object or a row and is ignored at the top and in arrays. A document has
 * one container at the top.
 *
 * Text: an object is a line a fact, "title: value", indented by two spaces for each object around it; objects
 * in an array have an empty line between them.
 */
void out_open_object(struct out *o, const char *key);
void out_close_object(struct out *o);
void out_open_array(struct out *o, const char *key);
void out_close_array(struct out *o);

/*
 * JSON: an array of objects. Text: aligned columns under the titles, in the order in which titles first
 * appeared; a row that lacks one shows "-". An empty table prints nothing. Facts in containers inside a row
 * are cells of that row, and facts that follow each other under one title share a cell, with a comma between
 * them.
 */
void out_open_table(struct out *o, const char *key);
void out_open_row(struct out *o);
void out_close_row(struct out *o);
void out_close_table(struct out *o);

/*
 * Facts. `key` is snake_case and carries the unit. `title` heads the column or the line; NULL: only in JSON;
 * "": the value alone on its line. NULL is null in JSON, and NULL and "" are "-" in text.
 *
 * Strings may hold any bytes. JSON: control characters are \u00XX, each byte that is no UTF-8 is U+FFFD.
 * Text: both show as \xXX, and so does a blank at either end, so that no name drives a terminal or breaks a
 * row.
 */
void out_string(struct out *o, const char *key, const char *title, const char *value);
void out_u64(struct out *o, const char *key, const char *title, uint64_t value);
void out_bool(struct out *o, const char *key, const char *title, bool value);
void out_duration(struct out *o, const char *key, const char *title, uint64_t ns);
void out_q32(struct out *o, const char *key, const char *title, uint64_t q32); /* unsigned Q32.32 */
void out_bytes(struct out *o, const char *key, const char *title, uint64_t bytes);
void out_null(struct out *o, const char *key, const char *title);

/*
 * Text only, as it stands: headings, histograms, hints. Not between the rows of a table. Control characters
 * other than newline are escaped here too.
 */
void out_text(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * {"error": message}: the one document of stdout, and whatever is said there afterwards is swallowed. If
 * stdout has already begun a document, the error is a JSON line on stderr instead. 0 or -errno. Callers use
 * fail().
 */
int out_error(enum out_mode mode, const char *message);

#endif
