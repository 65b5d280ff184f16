// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client with several replicas: each line of standard input is a request, which goes to the first replica
 * that nobody suspects. An answer of unknown keeps nobody from being tried.
 *
 *     consumer ROOT PEER...      ROOT: directory of the store, or - for the usual one
 */
#include <errno.h>
#include <kphi.h>
#include <stdio.h>
#include <string.h>

static bool usable(const struct kphi *k, const char *name, struct kphi_ref *peer)
{
	int answer = kphi_suspected(k, *peer, KPHI_ANY, kphi_now_ns());

	/* Not looked for yet, or deleted since; perhaps it was added again. */
	if (answer == -ESTALE && !kphi_find(k, name, peer))
		answer = kphi_suspected(k, *peer, KPHI_ANY, kphi_now_ns());
	return answer != KPHI_SUSPECTED;
}

int main(int argc, char **argv)
{
	const char *root = argc > 2 && strcmp(argv[1], "-") ? argv[1] : NULL;
	char request[256], why[KPHI_WHY_SIZE];
	struct kphi_ref peers[16];
	struct kphi *k = NULL;

	while (argc > 2 && argc < 2 + 16 && fgets(request, sizeof(request), stdin)) {
		/* A system call, which the requests of a busy client can share. */
		if (!k || kphi_stale(k)) {
			kphi_close(k);
			if (kphi_open(&k, root, why, sizeof(why)))
				fprintf(stderr, "%s\n", why);
			for (int i = 2; i < argc; i++)
				peers[i - 2] = KPHI_NOBODY;
		}
		for (int i = 2; i < argc; i++) {
			if (k && !usable(k, argv[i], &peers[i - 2]))
				continue;
			printf("%s\n", argv[i]); /* here the request would be sent */
			break;
		}
		fflush(stdout);
	}
	kphi_close(k);
	return 0;
}
