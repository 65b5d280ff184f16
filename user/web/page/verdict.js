// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- one sentence for whoever looks for one second; and what the page itself is short of */

const verdict = (() => {
	const NAMES = 3;
	const banners = new Map();

	const names = (list) =>
		list
			.slice(0, NAMES)
			.map((i) => past.peers()[i].name)
			.join(', ') + (list.length > NAMES ? ` and ${list.length - NAMES} more` : '');

	function suspects(list) {
		const hosts = new Set(list.map((i) => rows.hostOf(past.peers()[i]))),
			since = Math.min(...list.map(rows.suspectSince));
		const when = Number.isFinite(since) ? ' since ' + clock(since) : '';

		if (list.length === 1) return `${names(list)} is suspect${when}.`;
		if (hosts.size === 1 && !hosts.has(''))
			return `${list.length} peers are suspect, all on host ${[...hosts][0]}${when}.`;
		return `${list.length} peers are suspect: ${names(list)}${when && ', the first' + when}.`;
	}

	function holds(held, all) {
		const whose = held === all ? 'All verdicts are' : held === 1 ? 'One verdict is' : `${held} verdicts are`;

		return `${whose} held: the evidence is against this host.`;
	}

	function sentence(frame) {
		const by = new Map(STATES.map((s) => [s.name, []])),
			all = past.peers().length;

		past.peers().forEach((_, i) => by.get(rows.state(i))?.push(i));
		const bad = by.get('suspect'),
			down = by.get('down'),
			held = by.get('held'),
			blind = by.get('blind'),
			said = [];

		if (!all) return 'Nobody is watched. Add a peer: kphi peer add.';
		if (frame.stalled) said.push('This host is stalled: no silence counts now.');
		if (bad.length) said.push(suspects(bad));
		if (down.length) said.push(`${names(down)} ${down.length === 1 ? 'was' : 'were'} declared down.`);
		if (held.length) said.push(holds(held.length, all));
		if (blind.length) said.push(`This host cannot hear ${blind.length === all ? 'anybody' : names(blind)}.`);
		if (!said.length)
			said.push(
				by.get('up').length === all
					? all === 1
						? 'The one peer is up.'
						: `All ${all.toLocaleString('en')} peers are up.`
					: `${by.get('up').length} of ${count(all, 'peer')} are up, nobody is suspect.`,
			);
		return said.join(' ');
	}

	/* For whoever has a tab for each observer. */
	function entitle() {
		const counts = rows.counts(),
			bad = ['down', 'suspect', 'held', 'blind']
				.filter((s) => counts.get(s))
				.map((s) => `${counts.get(s)} ${s}`);
		const title = (bad.length ? bad.join(', ') + ' · ' : '') + location.host + ' · kphi';

		if (document.title !== title) document.title = title;
	}

	function banner(key, text) {
		const old = banners.get(key);

		if (!text) {
			old?.remove();
			banners.delete(key);
			return;
		}
		const p = old || add(byId('banners'), 'p', {class: 'warning', role: 'alert'});

		banners.set(key, p);
		say(p, text);
	}

	return {
		show: (frame) => {
			const bad =
				frame.stalled ||
				past.peers().some((_, i) => !['up', 'not judged', 'muted', 'left'].includes(rows.state(i)));

			say(byId('verdict'), sentence(frame));
			entitle();
			mark(byId('verdict'), 'data-bad', bad ? 'yes' : null);
			banner(
				'store',
				frame.store === false
					? 'There is no store that this server can read: nobody is heard. `kphi doctor` says why.'
					: null,
			);
			banner(
				'daemon',
				frame.daemon || frame.store === false
					? null
					: 'No `kphi run` watches this store: phi is computed, but nobody decides, tells or holds back.',
			);
		},
		live: (live, since) => {
			const at = clock(since);

			mark(document.documentElement, 'data-live', live ? 'yes' : 'no');
			say(byId('live'), live ? 'live' : 'lost since ' + at);
			mark(byId('live'), 'title', (live ? 'since ' : 'lost since ') + clockFully(since));
			banner(
				'lost',
				live
					? null
					: `Nothing has come from the server since ${at}. What is shown is from then; trying again.`,
			);
		},
		banner,
	};
})();
