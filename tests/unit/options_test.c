// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Keywords and option tables: what is understood, what is refused, and the sentences that go with it. */
#include "io/error.h"
#include "io/format.h"
#include "io/options.h"

#include "kphi/maps.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static char why[1024];

/* --- keywords --- */

static const char *const commands[] = {"show", "add", "delete", "set", "reset", "trace", "top", "help"};

static void keywords(void **state)
{
	static const struct {
		const char *word;
		int choice;
		const char *why;
	} table[] = {
		{"add", 1, NULL},
		{"a", 1, NULL},
		{"sh", 0, NULL},
		{"reset", 4, NULL},
		{"s", -EINVAL, "'s' is ambiguous: it could be show or set"},
		{"t", -EINVAL, "'t' is ambiguous: it could be trace or top"},
		{"", -EINVAL, "'' is unknown: choose show, add, delete, set, reset, trace, top or help"},
		{"shwo", -EINVAL,
		 "'shwo' is unknown: did you mean show? Choose show, add, delete, set, reset, trace, top or "
		 "help"},
		{"adds", -EINVAL,
		 "'adds' is unknown: did you mean add? Choose show, add, delete, set, reset, trace, top or "
		 "help"},
		{"dlete", -EINVAL,
		 "'dlete' is unknown: did you mean delete? Choose show, add, delete, set, reset, trace, top "
		 "or help"},
		{"Show", -EINVAL,
		 "'Show' is unknown: did you mean show? Choose show, add, delete, set, reset, trace, top or "
		 "help"},
		{"zebra", -EINVAL,
		 "'zebra' is unknown: choose show, add, delete, set, reset, trace, top or help"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		*why = '\0';
		assert_int_equal(keyword_match(table[i].word, commands, LENGTH(commands), why, sizeof(why)),
				 table[i].choice);
		assert_string_equal(why, table[i].why ? table[i].why : "");
	}
}

/* A word that equals one choice and begins another means the one it equals. */
static void an_exact_word_is_never_ambiguous(void **state)
{
	static const char *const choices[] = {"interval-max", "interval", "int"};

	(void)state;
	assert_int_equal(keyword_match("interval", choices, LENGTH(choices), why, sizeof(why)), 1);
	assert_int_equal(keyword_match("int", choices, LENGTH(choices), why, sizeof(why)), 2);
	assert_int_equal(keyword_match("inte", choices, LENGTH(choices), why, sizeof(why)), -EINVAL);
	assert_int_equal(keyword_match("interval-", choices, LENGTH(choices), why, sizeof(why)), 0);
	assert_int_equal(keyword_match("x", choices, 0, why, sizeof(why)), -EINVAL);
}

static void long_words_are_cut_short(void **state)
{
	char word[5000];

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(keyword_match(word, commands, LENGTH(commands), why, sizeof(why)), -EINVAL);
	assert_true(strlen(why) < 200);
	assert_non_null(strstr(why, "choose show"));
}

/* --- options --- */

static const char *const models[] = {"normal", "akka", "exponential", NULL};

struct everything {
	char name[KPHI_NAME_SIZE];
	uint64_t interval_ns, pause_ns, watch_pid;
	bool has_interval, has_model, quiet;
	uint32_t jitter_ppm;
	uint16_t port;
	uint8_t id[16], source[16];
	struct sockaddr_storage to;
	const char *dev;
	int model;
};

static const struct option_spec specs[] = {
	{"name", OPT_NAME, offsetof(struct everything, name), OPT_NO_HAS, .required = true,
	 .help = "how everybody calls the peer"},
	{"interval", OPT_DURATION, offsetof(struct everything, interval_ns),
	 offsetof(struct everything, has_interval), 1000000, 3600000000000,
	 .help = "how often the peer beats"},
	{"id", OPT_UUID, offsetof(struct everything, id), OPT_NO_HAS, .help = "node id"},
	{"model", OPT_CHOICE, offsetof(struct everything, model), offsetof(struct everything, has_model),
	 .help = "how its silence is judged", .choices = models},
	{"port", OPT_PORT, offsetof(struct everything, port), OPT_NO_HAS, .help = "where its beats arrive"},
	{"source", OPT_ADDRESS, offsetof(struct everything, source), OPT_NO_HAS,
	 .help = "where they come from"},
	{"to", OPT_ENDPOINT, offsetof(struct everything, to), OPT_NO_HAS, 7441, .help = "where to send"},
	{"jitter", OPT_PERCENT, offsetof(struct everything, jitter_ppm), OPT_NO_HAS,
	 .help = "of the interval"},
	{"dev", OPT_STRING, offsetof(struct everything, dev), OPT_NO_HAS, .help = "network device",
	 .value = "DEVICE"},
	{"watch-pid", OPT_U64, offsetof(struct everything, watch_pid), OPT_NO_HAS, 1,
	 .help = "beat while this lives"},
	{"pause", OPT_DURATION, offsetof(struct everything, pause_ns), OPT_NO_HAS,
	 .max = KPHI_INTERVAL_MAX_NS, .help = "on top of the mean"},
	{"quiet", OPT_FLAG, offsetof(struct everything, quiet), OPT_NO_HAS, .help = "say less"},
};

/* Runs `body`; what fail() says meanwhile is in `why`. */
static int overhear(int (*body)(struct args *args), struct args *args)
{
	int fd = memfd_create("stderr", 0), before = dup(STDERR_FILENO), result;
	ssize_t length;

	dup2(fd, STDERR_FILENO);
	result = body(args);
	dup2(before, STDERR_FILENO);
	length = pread(fd, why, sizeof(why) - 1, 0);
	why[length > 0 ? length : 0] = '\0';
	close(before);
	close(fd);
	return result;
}

static void assert_refused(int (*body)(struct args *args), struct args args, const char *said)
{
	assert_int_equal(overhear(body, &args), -EINVAL);
	assert_string_equal(why, said);
}

static struct everything got;

static int parse_got(struct args *args)
{
	memset(&got, 0, sizeof(got));
	return options_parse(args, specs, LENGTH(specs), &got);
}

/* Parses a line, cut at blanks, into `got`; '' is an empty word. */
static int parse_line(const char *line)
{
	static char copy[1024];
	char *argv[64], *save, *word;
	struct args args = {0, argv, "peer add"};

	snprintf(copy, sizeof(copy), "%s", line);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[args.argc++] = strcmp(word, "''") ? word : word + 2;
	return overhear(parse_got, &args);
}

static void all_options_at_once(void **state)
{
	char text[ENDPOINT_SIZE];

	(void)state;
	assert_int_equal(
		parse_line("name db1 interval 100ms id 6ba7b810-9dad-11d1-80b4-00c04fd430c8 model "
			   "akka port 7441 "
			   "source 192.0.2.1 to 2001:db8::1 jitter 12.5% dev eth0 watch-pid 1 quiet"),
		0);
	assert_string_equal(why, "");
	assert_string_equal(got.name, "db1");
	assert_int_equal(got.interval_ns, 100000000);
	assert_true(got.has_interval && got.has_model && got.quiet);
	assert_string_equal(format_uuid(got.id, text), "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
	assert_int_equal(got.model, 1);
	assert_int_equal(got.port, 7441);
	assert_string_equal(format_address(got.source, text), "192.0.2.1");
	assert_string_equal(format_endpoint(&got.to, text), "[2001:db8::1]:7441");
	assert_int_equal(got.jitter_ppm, 125000);
	assert_string_equal(got.dev, "eth0");
	assert_int_equal(got.watch_pid, 1);
}

static void options_by_prefix_and_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(parse_line("q mo exp na name in 1s"), 0);
	assert_string_equal(got.name, "name");
	assert_int_equal(got.model, 2);
	assert_int_equal(got.interval_ns, 1000000000);
	assert_true(got.quiet);
	assert_int_equal(parse_line("name db1 jitter 10"), 0);
	assert_int_equal(got.jitter_ppm, 100000);
	assert_int_equal(parse_line("name db1"), 0);
	assert_false(got.has_interval || got.has_model || got.quiet);
}

static void options_refused(void **state)
{
	static const struct {
		const char *line, *sentence;
	} table[] = {
		{"", "'name' is missing: how everybody calls the peer"},
		{"interval 1s", "'name' is missing: how everybody calls the peer"},
		{"name", "'name' needs a name"},
		{"name db1 interval", "'interval' needs a duration such as 100ms"},
		{"name db1 name db2", "'name' is given twice"},
		{"name db1 quiet qui", "'quiet' is given twice"},
		{"i 1s", "'i' is ambiguous: it could be interval or id"},
		{"nmae db1",
		 "'nmae' is unknown: did you mean name? Choose name, interval, id, model, port, source, to, "
		 "jitter, dev, watch-pid, pause or quiet"},
		{"name db1 interval 100",
		 "interval: '100' has no unit: use ns, us, ms, s, m, h or d, as in 100ms"},
		{"name db1 interval 1us", "interval: '1us' is out of range: it must be between 1ms and 1h"},
		{"name db1 model gauss", "model: 'gauss' is unknown: choose normal, akka or exponential"},
		{"name db1 port 0", "port: '0' is not a port: it must be between 1 and 65535"},
		{"name db1 watch-pid 0", "watch-pid: '0' is out of range: it must be between 1 and "
					 "18446744073709551615"},
		{"name db1 jitter 0.5", "jitter: '0.5' is not a percentage: write it as 50% or 12.5%"},
		{"name db1 jitter 200", "jitter: '200%' is out of range: it must be between 0% and 100%"},
		{"name db1 jitter 200%", "jitter: '200%' is out of range: it must be between 0% and 100%"},
		{"name \x1b[2J",
		 "name: '\\x1b[2J' has a control character in it: a name is UTF-8 text without control "
		 "characters, with no blank at its ends"},
	};
	char expected[sizeof(why)];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		assert_int_equal(parse_line(table[i].line), -EINVAL);
		snprintf(expected, sizeof(expected), "Error: peer add: %s\n", table[i].sentence);
		assert_string_equal(why, expected);
	}
}

/* --- options that may be given more than once --- */

struct several {
	const char *match[2], *last;
};

static const struct option_spec repeated[] = {
	{"match", OPT_STRING, offsetof(struct several, match), OPT_NO_HAS, .times = 2, .help = "what it has"},
	{"last", OPT_STRING, offsetof(struct several, last), OPT_NO_HAS, .help = "behind it"},
};

static struct several several;

static int parse_several(struct args *args)
{
	memset(&several, 0, sizeof(several));
	return options_parse(args, repeated, LENGTH(repeated), &several);
}

static void options_given_twice(void **state)
{
	char *argv[] = {(char[]){"match"}, (char[]){"a"}, (char[]){"last"},  (char[]){"z"},
			(char[]){"m"},     (char[]){"b"}, (char[]){"match"}, (char[]){"c"}};
	struct args args = {2, argv, "peer add"};
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(parse_several(&args), 0);
	assert_string_equal(several.match[0], "a");
	assert_null(several.match[1]);
	args = (struct args){6, argv, "peer add"};
	assert_int_equal(parse_several(&args), 0);
	assert_string_equal(several.match[0], "a");
	assert_string_equal(several.match[1], "b");
	assert_string_equal(several.last, "z");
	assert_refused(parse_several, (struct args){8, argv, "peer add"},
		       "Error: peer add: 'match' is given too often: 2 times are the most\n");
	options_usage(to, repeated, LENGTH(repeated));
	options_help(to, repeated, LENGTH(repeated));
	fclose(to);
	assert_string_equal(text, "[match STRING]... [last STRING]"
				  "    match STRING  what it has (at most 2 times)\n"
				  "    last STRING   behind it\n");
	free(text);
}

/* Random lines of the table's own words: nothing crashes, and every refusal says why. */
static void random_lines(void **state)
{
	static const char *const words[] = {"name",  "db1",  "interval",    "100ms", "0",      "id",
					    "model", "akka", "port",        "7441",  "source", "::1",
					    "to",    "dev",  "watch-pid",   "quiet", "jitter", "5%",
					    "n",     "i",    "192.0.2.1:1", "\xff",  "interva"};
	uint64_t random = 7441;
	char line[512];

	(void)state;
	for (int round = 0; round < 10000; round++) {
		size_t length = 0;

		for (int i = 0; i < 12; i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			if (random >> 60 == 0)
				break;
			length += (size_t)snprintf(line + length, sizeof(line) - length, "%s ",
						   words[(random >> 33) % LENGTH(words)]);
		}
		line[length] = '\0';
		if (parse_line(line))
			assert_true(!strncmp(why, "Error: peer add: ", 17) &&
				    strchr(why, '\n') == why + strlen(why) - 1);
		else
			assert_true(*got.name && !*why);
	}
}

/* --- help --- */

static void assert_printed(void (*print)(FILE *to, const struct option_spec *specs, size_t n),
			   const char *expected)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	print(to, specs, LENGTH(specs));
	fclose(to);
	assert_string_equal(text, expected);
	free(text);
}

static void the_table_prints_itself(void **state)
{
	(void)state;
	assert_printed(options_usage,
		       "name NAME [interval DURATION] [id UUID]\n"
		       "            [model { normal | akka | exponential }] [port PORT] [source ADDRESS]\n"
		       "            [to ADDRESS[:PORT]] [jitter PERCENT] [dev DEVICE] [watch-pid NUMBER]\n"
		       "            [pause DURATION] [quiet]");
	assert_printed(options_help, "    name NAME          how everybody calls the peer; required\n"
				     "    interval DURATION  how often the peer beats (1ms to 1h)\n"
				     "    id UUID            node id\n"
				     "    model { normal | akka | exponential }\n"
				     "                       how its silence is judged\n"
				     "    port PORT          where its beats arrive\n"
				     "    source ADDRESS     where they come from\n"
				     "    to ADDRESS[:PORT]  where to send (port 7441 unless given)\n"
				     "    jitter PERCENT     of the interval\n"
				     "    dev DEVICE         network device\n"
				     "    watch-pid NUMBER   beat while this lives (at least 1)\n"
				     "    pause DURATION     on top of the mean (at most 1d15h)\n"
				     "    quiet              say less\n");
}

/* --- words in a row --- */

static void words_in_a_row(void **state)
{
	char *argv[] = {(char[]){"sh"}, (char[]){"db1"}};
	struct args args = {2, argv, "peer"};
	uint64_t seen = 0;

	(void)state;
	assert_int_equal(args_choice(&args, commands, LENGTH(commands)), 0);
	assert_string_equal(args_next(&args, "a name"), "db1");
	assert_int_equal(args_done(&args), 0);
	assert_null(args_word(&args));
	assert_int_equal(args_once(&args, &seen, 0, "first"), 0);
	assert_int_equal(args_once(&args, &seen, 63, "last"), 0);
	assert_int_equal(seen, 1 | 1ULL << 63);
}

/* Each of these refuses and says the sentence. */
static int next_of_none(struct args *args)
{
	return args_next(args, "a name") ? 0 : -EINVAL;
}

static int choice_of_none(struct args *args)
{
	return args_choice(args, models, 3);
}

static int once_too_often(struct args *args)
{
	uint64_t seen = 1ULL << 63;

	return args_once(args, &seen, 63, "dev");
}

static void words_refused(void **state)
{
	char *argv[] = {(char[]){"gauss"}};
	struct args none = {0, argv, "peer"}, one = {1, argv, "peer"};

	(void)state;
	assert_refused(next_of_none, none, "Error: peer: a name is missing\n");
	assert_refused(choice_of_none, none,
		       "Error: peer: a word is missing: choose normal, akka or exponential\n");
	assert_refused(choice_of_none, one,
		       "Error: peer: 'gauss' is unknown: choose normal, akka or exponential\n");
	assert_refused(args_done, one, "Error: peer: unexpected 'gauss': nothing may follow here\n");
	assert_refused(once_too_often, one, "Error: peer: 'dev' is given twice\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keywords),
		cmocka_unit_test(an_exact_word_is_never_ambiguous),
		cmocka_unit_test(long_words_are_cut_short),
		cmocka_unit_test(all_options_at_once),
		cmocka_unit_test(options_by_prefix_and_in_any_order),
		cmocka_unit_test(options_refused),
		cmocka_unit_test(options_given_twice),
		cmocka_unit_test(random_lines),
		cmocka_unit_test(the_table_prints_itself),
		cmocka_unit_test(words_in_a_row),
		cmocka_unit_test(words_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
