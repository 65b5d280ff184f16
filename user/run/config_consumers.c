// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The consumers of the file: thresholds, whom they care about, what they run. */
#include <errno.h>
#include <string.h>

#include "core/policy.h"
#include "io/format.h"
#include "io/parse.h"
#include "run/config_check.h"

#define SECOND_NS 1000000000ULL

static struct yaml_path place_of(unsigned int index)
{
	return yaml_index(yaml_key((struct yaml_path){.depth = 0}, "consumers"), index);
}

static int take_name(const struct config *config, const struct check *c, const struct yaml_path *here,
		     const char *text, struct consumer *to)
{
	char why[WHY_SIZE];

	if (!text)
		return complain(c, here, "a consumer needs a `name`");
	if (parse_name(text, to->name, why, sizeof(why)))
		return complain_key(c, here, "name", why);
	for (const struct consumer *other = config->engine.consumer; other < to; other++)
		if (!strcmp(other->name, to->name))
			return complain(c, here, "consumer %s is here twice", to->name);
	return 0;
}

static int take_thresholds(const struct check *c, const struct yaml_path *here,
			   const struct raw_consumer *raw, struct consumer *to)
{
	char suspect[FORMAT_SIZE], clear[FORMAT_SIZE], why[WHY_SIZE];
	int err = take_threshold(c, here, "suspect", raw->suspect, &to->suspect);

	to->clear = to->suspect / 2 ? to->suspect / 2 : 1;
	err = err ? err : take_threshold(c, here, "clear", raw->clear, &to->clear);
	if (err || to->clear <= to->suspect)
		return err;
	refuse(-EINVAL, why, sizeof(why),
	       "%s is above the `suspect` threshold of %s: no peer could ever be trusted again",
	       format_q32(to->clear, 3, clear), format_q32(to->suspect, 3, suspect));
	return complain_key(c, here, "clear", why);
}

/* A name must be in the file, so that a slip is found; a pattern may match what is added by hand later. */
static int check_peers(const struct config *config, const struct check *c, const struct yaml_path *here,
		       const struct raw_consumer *raw)
{
	struct yaml_path list = yaml_key(*here, "peers");

	for (unsigned int i = 0; i < raw->peers_count; i++) {
		struct yaml_path at = yaml_index(list, i);

		if (!*raw->peers[i])
			return complain(c, &at, "peers: a name must not be empty");
		if (strpbrk(raw->peers[i], "*?[") || config_has_peer(config, raw->peers[i]))
			continue;
		return complain(c, &at,
				"peers: no peer of this file is called " QUOTED
				". One that is added by hand can be matched by a pattern, such as " QUOTED,
				raw->peers[i], "db*");
	}
	if (raw->peers && !raw->peers_count)
		return complain(c, &list, "peers: the list is empty; leave it out to mean all of them");
	return 0;
}

static int take_exec(const struct check *c, const struct yaml_path *here, const struct raw_consumer *raw,
		     bool shadow, struct config_consumer *to)
{
	int err;

	*to = (struct config_consumer){
		.peers = raw->peers,
		.peers_count = raw->peers_count,
		.exec = raw->exec,
		.exec_timeout_ns = 10 * SECOND_NS,
		.exec_per_minute = 10,
		.exec_burst = 5,
	};
	if (raw->exec && !*raw->exec)
		return complain_key(c, here, "exec", "a command must not be empty");
	if (raw->exec && shadow)
		return complain_key(c, here, "exec",
				    "a shadow consumer gives no verdicts, so it runs nothing");
	err = take_duration(c, here, "exec_timeout", raw->exec_timeout, SECOND_NS / 100, 3600 * SECOND_NS,
			    &to->exec_timeout_ns);
	err = err ? err
		  : take_u64(c, here, "exec_per_minute", raw->exec_per_minute, 1, 6000, &to->exec_per_minute);
	return err ? err : take_u64(c, here, "exec_burst", raw->exec_burst, 1, 1000, &to->exec_burst);
}

static int take_consumer(struct config *config, const struct check *c, const struct raw_consumer *raw,
			 unsigned int index)
{
	struct consumer *to = &config->engine.consumer[index];
	struct yaml_path here = place_of(index);
	uint64_t samples = 0;
	int err;

	*to = (struct consumer){.suspect = POLICY_SUSPECT, .correlated = true};
	err = take_name(config, c, &here, raw->name, to);
	err = err ? err : take_thresholds(c, &here, raw, to);
	err = err ? err : take_u64(c, &here, "min_samples", raw->min_samples, 0, KPHI_WINDOW_MAX, &samples);
	to->min_samples = (uint32_t)samples;
	err = err ? err : take_switch(c, &here, "correlated", raw->correlated, &to->correlated);
	err = err ? err : take_switch(c, &here, "shadow", raw->shadow, &to->shadow);
	err = err ? err : check_peers(config, c, &here, raw);
	return err ? err : take_exec(c, &here, raw, to->shadow, &config->consumer[index]);
}

int config_take_consumers(struct config *config, const struct check *c)
{
	static const struct raw_consumer usual = {.name = (char *)"default"};
	const struct raw_config *raw = config->raw;
	int err = 0;

	if (raw->consumers_count > ENGINE_CONSUMERS) {
		struct yaml_path at = place_of(ENGINE_CONSUMERS);

		return complain(c, &at, "%u consumers: there is room for %d", raw->consumers_count,
				ENGINE_CONSUMERS);
	}
	for (unsigned int i = 0; !err && i < raw->consumers_count; i++)
		err = take_consumer(config, c, &raw->consumers[i], i);
	config->engine.consumers = raw->consumers_count;
	if (!err && !raw->consumers_count) {
		err = take_consumer(config, c, &usual, 0);
		config->engine.consumers = 1;
	}
	return err;
}
