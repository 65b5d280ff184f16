// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace convert: from one format to another. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/trace.h"
#include "core/models.h"
#include "trace/flow.h"

struct convert {
	int from, to;
	bool has_from, has_to, has_peer;
	char peer[KPHI_NAME_SIZE];
	uint64_t interval_ns;
	struct rule_text rule;
};

#define WORD(...) RULE_OPTION(convert, __VA_ARGS__)

const struct option_spec trace_convert_specs[] = {
	{"from", OPT_CHOICE, offsetof(struct convert, from), offsetof(struct convert, has_from),
	 .choices = format_names, .help = "what IN is; guessed if not said"},
	{"to", OPT_CHOICE, offsetof(struct convert, to), offsetof(struct convert, has_to),
	 .choices = format_names, .help = "what OUT is to be; by its name if not said"},
	{"peer", OPT_NAME, offsetof(struct convert, peer), offsetof(struct convert, has_peer),
	 .help = "only this peer; from a list of gaps: what it is called"},
	{"interval", OPT_DURATION, offsetof(struct convert, interval_ns), OPT_NO_HAS,
	 .min = PEER_INTERVAL_MIN_NS, .max = PEER_INTERVAL_MAX_NS,
	 .help = "how often the peers that are made of it beat; learned if not said"},
	WORD("proto", RULE_PROTO, "PRESET",
	     "of a capture, packets of this protocol (`kphi peer presets`); if not said, native beats and "
	     "every protocol that tells whose it is"),
	WORD("source", RULE_FROM, "ADDRESS", "... from this address; each sender is a peer if not said"),
	WORD("port", RULE_PORT, "PORT", "... to this UDP port"),
	WORD("protocol", RULE_PROTOCOL, "NUMBER", "proto ip: number of the IP protocol"),
	WORD("vrid", RULE_VRID, "NUMBER", "proto vrrp: this virtual router; each is a peer if not said"),
	WORD("discriminator", RULE_DISCRIMINATOR, "NUMBER", "proto bfd: this session"),
	WORD("local-rx", RULE_LOCAL_RX, "DURATION",
	     "proto bfd: required minimum receive interval of the host that heard it"),
	{"match", OPT_STRING, offsetof(struct convert, rule.match), OPT_NO_HAS, .value = "OFFSET:HEX[/MASK]",
	 .times = KPHI_MATCHES, .help = "proto udp, ip: only packets that have these bytes there"},
	WORD("sequence", RULE_SEQUENCE, "OFFSET:BITS[le]", "proto udp, ip: where their sequence number is"),
	WORD("leave", RULE_LEAVE, "OFFSET:HEX[/MASK]",
	     "proto udp, ip: a packet with these bytes is a goodbye"),
	WORD("ttl", RULE_TTL, "NUMBER", "proto udp, ip: least TTL"),
	WORD("vlan", RULE_VLAN, "NUMBER", "only of this VLAN"),
};
const size_t trace_convert_specs_count = COUNT(trace_convert_specs);

/* "gaps.us.txt.gz" is called gaps, unless somebody says otherwise. */
static void name_gaps(struct flow_options *options, const char *path, const struct convert *c)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char word[KPHI_NAME_SIZE], why[WHY_SIZE];

	memcpy(options->name, c->peer, sizeof(options->name));
	if (c->has_peer)
		return;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, "."), name);
	if (parse_name(word, options->name, why, sizeof(why)))
		memcpy(options->name, "peer", sizeof("peer"));
}

/* Which formats? 0, or an exit code after a sentence. */
static int settle(struct convert *c, const char *from, const char *to)
{
	char why[WHY_SIZE];

	if (!c->has_from)
		c->from = format_guess(from, why, sizeof(why));
	if (c->from >= 0 && !c->has_to)
		c->to = format_of_name(to, why, sizeof(why));
	if (c->from >= 0 && c->to >= 0)
		return 0;
	fail("%s", why);
	return c->from == -EINVAL || c->to == -EINVAL ? KPHI_EXIT_USAGE : KPHI_EXIT_FAILED;
}

static bool is_capture(int format)
{
	return format == FORMAT_PCAP || format == FORMAT_PCAPNG;
}

static int check(const struct args *args, const struct convert *c)
{
	if (!is_capture(c->from) && rule_is_written(&c->rule))
		fail("%s: `proto` and the words that go with it choose packets of a capture, and this is "
		     "%s",
		     args->where, format_names[c->from]);
	else if (c->to == FORMAT_PCAPNG)
		fail("%s: kphi reads pcapng, and writes pcap: choose `to pcap`", args->where);
	else
		return 0;
	return KPHI_EXIT_USAGE;
}

/* Nothing is said if standard output is what was converted. */
static int say(struct kphi_cli *cli, const struct flow *f, const struct convert *c)
{
	struct stat file;
	struct out *o;

	if (!strcmp(f->to, "-"))
		return KPHI_EXIT_OK;
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	out_string(o, "converted", "converted", f->from);
	out_string(o, "from", "from", format_names[c->from]);
	out_string(o, "to", "to", format_names[c->to]);
	out_u64(o, "peers", "peers", f->sunk);
	out_u64(o, "arrivals", "arrivals", f->arrivals - f->left_out);
	out_u64(o, "left_out", f->left_out ? "left out, for there is no way to write them so" : NULL,
		f->left_out);
	if (is_capture(c->from)) {
		out_u64(o, "refused", "packets refused", f->refused);
		out_u64(o, "foreign", "other packets", f->foreign);
	}
	out_u64(o, "lost", f->lost ? "lost by the recorder" : NULL, f->lost);
	out_bool(o, "cut_off", f->cut_off ? "cut off" : NULL, f->cut_off);
	if (f->cut_off && is_capture(c->from))
		out_string(o, "cut_off_because", "because", f->why);
	out_u64(o, "torn_bytes", f->torn ? "bytes of a torn tail, dropped" : NULL, f->torn);
	if (!stat(f->to, &file) && S_ISREG(file.st_mode)) {
		out_bytes(o, "bytes", "size", (uint64_t)file.st_size);
		out_q32(o, "bytes_per_arrival", "bytes per arrival",
			(uint64_t)(((unsigned __int128)file.st_size << 32) / (f->arrivals - f->left_out)));
	}
	out_close_object(o);
	return command_finish(o);
}

int trace_convert(struct kphi_cli *cli, struct args *args)
{
	const char *from = args_next(args, "what to convert (IN)");
	const char *to = from ? args_next(args, "where to (OUT)") : NULL;
	struct convert c = {0};
	struct flow f = {.from = from, .to = to};
	int exit;

	if (!to || options_parse(args, trace_convert_specs, trace_convert_specs_count, &c))
		return KPHI_EXIT_USAGE;
	exit = settle(&c, from, to);
	exit = exit ? exit : check(args, &c);
	if (exit)
		return exit;
	f.options = (struct flow_options){.interval_ns = c.interval_ns, .rule = c.rule};
	name_gaps(&f.options, from, &c);
	if (c.has_peer && c.from != FORMAT_GAPS_US && c.from != FORMAT_GAPS_MS)
		f.options.only = c.peer;
	if (flow_check_rule(&f)) {
		fail("%s: %s", args->where, f.why);
		return KPHI_EXIT_USAGE;
	}
	if (flow_run(&f, (enum trace_format)c.from, (enum trace_format)c.to)) {
		fail("%s", f.why);
		exit = KPHI_EXIT_FAILED;
	} else {
		exit = say(cli, &f, &c);
	}
	flow_free(&f);
	return exit;
}
