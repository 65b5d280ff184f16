// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what is known of the peers, and which of them are shown in which order; heat map and table obey it both */

const view = {range: 600, sort: 'worst', text: '', states: new Set(), paused: false, selected: null};

/* A wish for order of people: web2 comes before web10. */
const byName = new Intl.Collator('en', {numeric: true}).compare;

const rows = (() => {
	const TROUBLE_S = 600; /* whoever was suspect in these seconds stays above the merely healthy */
	const facts = new Map(); /* by name: what /api/v1/peers says */
	const suspected =
		new Map(); /* by name: by the daemon's events, the consumers that suspect it now, and since when */
	let order = [],
		states = [],
		loud = [],
		places = [],
		hosts = [];

	const factsOf = (peer) => facts.get(peer.name) || {};
	const hostOf = (peer) => peer.host || '';

	function latch(event) {
		const by = suspected.get(event.peer) || new Map();

		if (event.type === 'suspect') suspected.set(event.peer, by.set(event.consumer, Date.parse(event.time)));
		else if (event.type === 'trust') by.delete(event.consumer);
		else if (event.type === 'leave' || event.type === 'restart') by.clear();
	}

	/* Names are compared once for each set of peers: it is slower than all the rest. */
	function roster() {
		const peers = past.peers(),
			rank = (compare) => {
				const ranks = [];

				peers
					.map((_, i) => i)
					.sort(compare)
					.forEach((i, at) => (ranks[i] = at));
				return ranks;
			};
		const names = (a, b) => byName(peers[a].name, peers[b].name);

		places = rank(names);
		hosts = rank(
			(a, b) =>
				!hostOf(peers[a]) - !hostOf(peers[b]) || byName(hostOf(peers[a]), hostOf(peers[b])) || names(a, b),
		);
		order = [];
	}

	/* A cell is 250 ms old at most, so it comes before what was asked for. */
	function stateOf(peer, i) {
		const now = cellState(past.present(i));

		if (now === 'unknown') return factsOf(peer).state === 'up' ? 'up' : 'not judged';
		return now === 'up' && suspected.get(peer.name)?.size ? 'suspect' : now;
	}

	/* Returns whether anybody's state has changed. */
	function look() {
		const next = past.peers().map(stateOf),
			changed = next.length !== states.length || next.some((s, i) => s !== states[i]);

		states = next;
		return changed;
	}

	function tier(i) {
		const bad = ['down', 'suspect', 'held', 'blind'].indexOf(states[i]);

		if (bad >= 0) return bad;
		if (past.newest() - past.lastLoud(i) < TROUBLE_S) return 4;
		return states[i] === 'up' || states[i] === 'not judged' ? 5 : 6;
	}

	function matches(i, words) {
		const peer = past.peers()[i];

		if (view.states.size && !view.states.has(states[i])) return false;
		if (!words.length) return true;
		const text = [peer.name, hostOf(peer), factsOf(peer).model || '', states[i]].join('\n').toLowerCase();

		return words.every((word) => text.includes(word));
	}

	/* Returns whether the order, or who is loud in it, has changed. */
	function arrange() {
		const words = view.text.toLowerCase().split(/\s+/).filter(Boolean),
			tiers = (look(), states.map((_, i) => tier(i)));
		const ranks = view.sort === 'host' ? hosts : places;
		const next = states.map((_, i) => i).filter((i) => matches(i, words));

		next.sort(
			view.sort === 'worst'
				? (a, b) => tiers[a] - tiers[b] || places[a] - places[b]
				: (a, b) => ranks[a] - ranks[b],
		);
		const nextLoud = next.map((i) => tiers[i] <= 4);
		const changed =
			next.length !== order.length || next.some((i, at) => i !== order[at] || nextLoud[at] !== loud[at]);

		[order, loud] = [next, nextLoud];
		return changed;
	}

	return {
		roster,
		look,
		arrange,
		latch,
		hostOf,
		state: (i) => states[i],
		isLoud: (row) => loud[row] /* in trouble now or lately */,
		suspectSince: (i) => Math.min(...(suspected.get(past.peers()[i].name)?.values() || [])),
		place: (i) => places[i] /* in the order of names */,
		factsOf: (i) => factsOf(past.peers()[i]),
		order: () => order,
		learn: (peers) => {
			facts.clear();
			for (const p of peers) facts.set(p.name, p);
		},
		/* How many are in each state, shown or not. */
		counts: () => {
			const counts = new Map(STATES.map((s) => [s.name, 0]));

			states.forEach((s) => counts.set(s, (counts.get(s) || 0) + 1));
			return counts;
		},
	};
})();
