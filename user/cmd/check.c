// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi check: what another detector says of the same peers, against what was heard of them. */
#include "cmd/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/parse.h"
#include "kernel/clock.h"

#define CHUNK   65536
#define CHOICES 16

/* --- what they say --- */

void check_refuse(void (*how)(const char *format, ...), const struct source *source,
		  const struct check_input *input, const char *reason)
{
	how("check %s: %s: %s. It reads %s", source->name, input->name, reason, source->from);
}

static int read_all(struct stream *s, const struct check_input *input, char *why, size_t size)
{
	char bytes[CHUNK];
	ssize_t got;
	int err = 0;

	while (!err && (got = read(input->fd, bytes, sizeof(bytes))) != 0)
		if (got > 0)
			err = stream_put(s, bytes, (size_t)got);
		else if (errno != EINTR)
			return refuse(-errno, why, size, "cannot read: %s", strerror(errno));
	if (err == -EMSGSIZE)
		return refuse(err, why, size, "line %u: more than %u MiB in one document are not read",
			      s->line, DOCUMENT_MAX >> 20);
	return err ? refuse(err, why, size, "no memory for it") : 0;
}

/* The one document of the input. */
static int read_document(struct stream *s, const struct source *source, struct claims *claims, char *why,
			 size_t size)
{
	struct document d;
	int err;

	if (!stream_take(s, true, &d))
		return refuse(-ENODATA, why, size, "there is nothing in it");
	err = source->read(&d, claims, why, size);
	if (!err && stream_take(s, true, &d))
		return refuse(-EINVAL, why, size,
			      "line %u: a second document: `kphi check follow %s` reads one after another",
			      d.line, source->name);
	if (!err && source->history && claims_keep_last(claims))
		return refuse(-ENOMEM, why, size, "no memory for %u peers", claims->count);
	return err;
}

static int read_claims(const struct source *source, const struct check_input *input, struct claims *claims)
{
	struct frame frame = source->frame;
	char reason[WHY_SIZE];
	struct stream s;
	int err;

	if (frame.framing != FRAMING_JSON)
		frame.framing = FRAMING_WHOLE;
	stream_begin(&s, &frame);
	err = read_all(&s, input, reason, sizeof(reason));
	err = err ? err : read_document(&s, source, claims, reason, sizeof(reason));
	stream_end(&s);
	if (!err)
		return KPHI_EXIT_OK;
	check_refuse(fail, source, input, reason);
	return KPHI_EXIT_FAILED;
}

/* --- the comparison --- */

struct report {
	struct check_world *world;
	const struct source *source;
	struct event_clock clock;
	struct out *out;
	struct check_seen *seen; /* of one claim, one after the other */
	uint32_t room;
	bool *named; /* by index of world's peers */
	uint32_t compared, count[CHECK_VERDICTS_COUNT];
};

static void say_pair(struct report *r, const struct check_seen *seen, const struct claim *claim)
{
	enum check_verdict verdict = check_decide(seen ? &seen->ours : NULL, claim);

	r->count[verdict]++;
	r->compared += seen && claim;
	out_open_row(r->out);
	check_say(r->out, seen, claim, r->source->called, &r->clock);
	out_close_row(r->out);
}

static int make_room(struct report *r, uint32_t count)
{
	struct check_seen *larger;

	if (count <= r->room)
		return 0;
	larger = realloc(r->seen, count * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	r->seen = larger;
	r->room = count;
	return 0;
}

static bool look(struct report *r, uint32_t index, struct check_seen *seen)
{
	const struct match_peer *p = &r->world->peer[index];

	return check_world_look(r->world, p->slot, p->generation, r->clock.monotonic_ns, seen);
}

static int compare(struct report *r, const struct claim *claim)
{
	uint32_t count, seen = 0;
	const uint32_t *found = match_claim(&r->world->match, claim, &count);

	if (make_room(r, count))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		r->named[found[i]] = true;
		seen += look(r, found[i], &r->seen[seen]);
	}
	check_find_audible(r->seen, seen);
	for (uint32_t i = 0; i < seen; i++)
		say_pair(r, &r->seen[i], claim);
	if (!seen)
		say_pair(r, NULL, claim);
	return 0;
}

static int say_rows(struct report *r, const struct claims *claims)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < claims->count; i++)
		err = compare(r, &claims->claim[i]);
	err = err ? err : make_room(r, 1);
	for (uint32_t i = 0; !err && i < r->world->peers; i++)
		if (!r->named[i] && look(r, i, r->seen))
			say_pair(r, r->seen, NULL);
	return err;
}

static void say_counts(struct report *r)
{
	out_u64(r->out, "compared", NULL, r->compared);
	for (int i = 0; i < CHECK_VERDICTS_COUNT; i++)
		out_u64(r->out, check_verdict_name((enum check_verdict)i), NULL, r->count[i]);
	out_text(r->out, "%u compared: %u agree, %u disagree, %u undecided\n", r->compared,
		 r->count[CHECK_agree_up] + r->count[CHECK_agree_down],
		 r->count[CHECK_they_suspect] + r->count[CHECK_they_trust], r->count[CHECK_undecided]);
}

static int verdict_exit(const struct report *r)
{
	if (!r->compared) {
		fail("check %s: nothing was compared: none of those it names has the name, the host label or "
		     "the "
		     "source address of a peer here. `kphi peer show` lists them",
		     r->source->name);
		return KPHI_EXIT_FAILED;
	}
	for (int i = 0; i < CHECK_VERDICTS_COUNT; i++)
		if (r->count[i] && check_is_disagreement((enum check_verdict)i))
			return KPHI_EXIT_SUSPECT;
	return KPHI_EXIT_OK;
}

static int report(struct kphi_cli *cli, struct check_world *w, const struct source *source,
		  const struct claims *claims)
{
	struct report r = {.world = w, .source = source, .clock = event_clock_now()};
	int err, exit;

	r.named = calloc(w->peers + 1, sizeof(*r.named));
	r.out = out_new(stdout, cli->mode);
	out_open_object(r.out, NULL);
	out_string(r.out, "source", NULL, source->name);
	out_open_table(r.out, "peers");
	err = r.named ? say_rows(&r, claims) : -ENOMEM;
	out_close_table(r.out);
	say_counts(&r);
	out_close_object(r.out);
	exit = command_finish(r.out);
	free(r.seen);
	free(r.named);
	if (err) {
		fail("check %s: no memory: not all were compared", source->name);
		return KPHI_EXIT_FAILED;
	}
	return exit ? exit : verdict_exit(&r);
}

static int check_once(struct kphi_cli *cli, const struct source *source, const struct check_input *input)
{
	struct claims claims = {0};
	struct check_world w;
	int exit = read_claims(source, input, &claims);

	if (!exit) {
		exit = check_world_open(&w, cli);
		exit = exit ? exit : report(cli, &w, source, &claims);
		check_world_close(&w);
	}
	claims_free(&claims);
	return exit;
}

/* --- the command --- */

/* For the table only: a SOURCE is chosen by its name, so they are not looked up there. */
static const struct command table[] = {
	{"SOURCE", NULL, NULL, 0, "[FILE | -]",
	 "compare what another detector says with what was heard; exit status 3: they disagree"},
	{"follow", NULL, NULL, 0, "SOURCE [FILE | -]",
	 "the same as they go on saying it: one line a change, and who knew first"},
};
static const struct object object = {"check", table, COUNT(table)};

static void write_help(FILE *to, const void *context)
{
	(void)context;
	command_usage(to, &object);
	fputs("\nSOURCE:\n", to);
	for (size_t i = 0; i < sources_count; i++)
		fprintf(to, "  %-9s  %s\n", sources[i].name, sources[i].from);
}

/* What the table of commands does not tell. */
static void write_manual(void)
{
	puts(".Pp\nA\n.Ar SOURCE\nis one of:\n.Bl -tag -width cassandra -compact");
	for (size_t i = 0; i < sources_count; i++)
		printf(".It Cm %s\n%s\n", sources[i].name, sources[i].from);
	puts(".El");
}

static int open_input(struct args *args, struct check_input *input)
{
	const char *name = args_word(args);

	*input = (struct check_input){"standard input", STDIN_FILENO};
	if (args_done(args))
		return KPHI_EXIT_USAGE;
	if (!name || !strcmp(name, "-"))
		return KPHI_EXIT_OK;
	*input = (struct check_input){name, open(name, O_RDONLY | O_CLOEXEC)};
	if (input->fd >= 0)
		return KPHI_EXIT_OK;
	fail("%s: %s: cannot open: %s", args->where, name, strerror(errno));
	return KPHI_EXIT_FAILED;
}

static int run(struct kphi_cli *cli, struct args *args, const struct source *source, bool follow)
{
	struct check_input input;
	int exit = open_input(args, &input);

	if (exit)
		return exit;
	exit = follow ? check_follow(cli, source, &input) : check_once(cli, source, &input);
	if (input.fd != STDIN_FILENO)
		close(input.fd);
	return exit;
}

int cmd_check(struct kphi_cli *cli, int argc, char **argv)
{
	struct args args = {argc, argv, "check"};
	const char *choices[CHOICES];
	bool follow = false;
	int which, exit = KPHI_EXIT_OK;

	if (command_asked(cli, &object, argc, argv, &exit)) {
		if (cli->asked == ASKED_MANUAL)
			write_manual();
		return exit;
	}
	for (size_t i = 0; i < sources_count; i++)
		choices[i] = sources[i].name;
	choices[sources_count] = "follow";
	choices[sources_count + 1] = "help";
	which = args_choice(&args, choices, sources_count + 2);
	if (which == (int)sources_count) {
		follow = true;
		args.where = "check follow";
		which = args_choice(&args, choices, sources_count);
	}
	if (which < 0)
		return KPHI_EXIT_USAGE;
	if (which == (int)sources_count + 1)
		return command_help(cli, write_help, NULL);
	return run(cli, &args, &sources[which], follow);
}
