// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Many threads ask one handle everything while beats arrive and peers come and go, until standard input ends.
 * Peers are called p0, p1 ...; the last byte of an id is the number of its peer, and so is its interval in
 * milliseconds above 100: what is torn does not fit together. Prints what was seen, as JSON; ends with 1 if
 * something was wrong. Built with the thread sanitizer, which ends it with 66.
 *
 *     lib_threads ROOT THREADS
 */
#include <errno.h>
#include <kphi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 16
#define MS_NS       1000000ULL
#define PHI_MAX_Q32 (2147483647ULL << 32)

static struct kphi *k;
static atomic_bool over;
static atomic_ulong wrong;

struct tally {
	unsigned long rounds, peers, read, gone, answers[3], judged;
};

static void complain(const char *what, const struct kphi_about *about)
{
	if (atomic_fetch_add(&wrong, 1) < 10)
		fprintf(stderr, "%s: %s slot %u generation %u\n", what, about->name, about->ref.slot,
			about->ref.generation);
}

static void ask(struct tally *t, const struct kphi_about *about)
{
	uint64_t now_ns = kphi_now_ns();
	struct kphi_judgement judgement;
	struct kphi_reading reading;
	int model = (int)(t->rounds % 6) - 1, err, answer;

	answer = kphi_suspected(k, about->ref, KPHI_ANY, now_ns);
	if (answer >= 0)
		t->answers[answer]++;
	else if (answer != -ESTALE)
		complain("suspected", about);
	if (!kphi_judge(k, about->ref, now_ns, &judgement) && judgement.valid_until_ns &&
	    judgement.generation != about->ref.generation)
		complain("somebody else's verdict", about);
	err = kphi_read(k, about->ref, model == 5 ? 0 : model, t->rounds % 2 ? 0 : 3ULL << 32, now_ns,
			&reading);
	t->gone += err == -ESTALE;
	if (err)
		return;
	t->read++;
	t->judged += reading.judged;
	if (reading.phi_q32 > PHI_MAX_Q32 || reading.condition > KPHI_IS_HELD ||
	    reading.samples > reading.beats || (reading.judged && !reading.beats))
		complain("a reading that cannot be", about);
}

static void *asker(void *argument)
{
	struct tally *t = argument;

	while (!atomic_load(&over)) {
		struct kphi_about about;
		struct kphi_ref found;
		uint32_t cursor = 0;

		t->rounds++;
		while (kphi_next(k, &cursor, &about)) {
			unsigned long number = strtoul(about.name + 1, NULL, 10);

			t->peers++;
			if (about.name[0] != 'p' || about.id[15] != number ||
			    about.interval_ns != (100 + number) * MS_NS)
				complain("a peer that was never added", &about);
			if (!kphi_find(k, about.name, &found) && found.slot != about.ref.slot)
				t->gone++; /* added again meanwhile, elsewhere */
			ask(t, &about);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	static struct tally tallies[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	char why[KPHI_WHY_SIZE], byte;
	struct tally sum = {0};

	if (!threads || threads > THREADS_MAX || kphi_open(&k, argv[1], why, sizeof(why))) {
		fprintf(stderr, "%s\n", threads ? why : "usage: lib_threads ROOT THREADS");
		return 1;
	}
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, asker, &tallies[i]))
			return 1;
	printf("asking\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	atomic_store(&over, true);
	for (size_t i = 0; i < threads; i++) {
		const struct tally *t = &tallies[i];

		pthread_join(ids[i], NULL);
		sum.rounds += t->rounds;
		sum.peers += t->peers;
		sum.read += t->read;
		sum.gone += t->gone;
		sum.judged += t->judged;
		for (int answer = 0; answer < 3; answer++)
			sum.answers[answer] += t->answers[answer];
	}
	kphi_close(k);
	printf("{\"rounds\":%lu,\"peers\":%lu,\"read\":%lu,\"gone\":%lu,\"judged\":%lu,\"not\":%lu,"
	       "\"suspected\":%lu,\"unknown\":%lu,\"wrong\":%lu}\n",
	       sum.rounds, sum.peers, sum.read, sum.gone, sum.judged, sum.answers[0], sum.answers[1],
	       sum.answers[2], atomic_load(&wrong));
	return atomic_load(&wrong) != 0;
}
