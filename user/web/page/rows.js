// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what is known of the peers, and which of them are shown in which order; heat map and table obey it both */

const view = {range: 600, sort: 'worst', text: '', states: new Set(), paused: false, selected: null};

const rows = (() => {
	const TROUBLE_S = 600; /* whoever was suspect in these seconds stays on top of the merely healthy */
	const facts = new Map(); /* by name: what /api/v1/peers says */
	const suspected = new Map(); /* by name: the consumers that suspect it now, by the daemon's events */
	let order = [], worst = new Uint8Array(0);

	const factsOf = (peer) => facts.get(peer.name) || {};
	const hostOf = (peer) => peer.host || '';

	function latch(event) {
		const by = suspected.get(event.peer) || new Set();

		if (event.type === 'suspect')
			suspected.set(event.peer, by.add(event.consumer));
		else if (event.type === 'trust')
			by.delete(event.consumer);
		else if (event.type === 'leave' || event.type === 'restart')
			by.clear();
	}

	/* The present state of a peer in the order of the roster. A cell is 250 ms old at most, and so it comes first. */
	function state(i) {
		const peer = past.peers()[i], now = cellState(past.present(i));

		if (now === 'unknown')
			return factsOf(peer).state === 'up' ? 'up' : 'not judged';
		return now === 'up' && (suspected.get(peer.name) || {size: 0}).size ? 'suspect' : now;
	}

	function tier(i) {
		const now = state(i), bad = ['down', 'suspect', 'held', 'blind'].indexOf(now);

		if (bad >= 0)
			return bad;
		if (cellState(worst[i]) === 'suspect' || RANK[worst[i]] >= RANK[BLIND])
			return 4;
		return now === 'up' || now === 'not judged' ? 5 : 6;
	}

	function matches(i, words) {
		const peer = past.peers()[i], now = state(i);

		if (view.states.size && !view.states.has(now))
			return false;
		if (!words.length)
			return true;
		const text = [peer.name, hostOf(peer), factsOf(peer).model || '', now].join('\n').toLowerCase();

		return words.every((word) => text.includes(word));
	}

	function compare(tiers) {
		const peers = past.peers(), names = (a, b) => byName(peers[a].name, peers[b].name);

		if (view.sort === 'name')
			return names;
		if (view.sort === 'host')
			return (a, b) => (!hostOf(peers[a]) - !hostOf(peers[b])) || byName(hostOf(peers[a]), hostOf(peers[b])) || names(a, b);
		return (a, b) => tiers[a] - tiers[b] || names(a, b);
	}

	/* Returns whether the order has changed. */
	function arrange() {
		const peers = past.peers(), words = view.text.toLowerCase().split(/\s+/).filter(Boolean);

		if (worst.length !== peers.length)
			worst = new Uint8Array(peers.length);
		past.worstOf(past.newest() - TROUBLE_S, past.newest(), worst);
		const next = peers.map((_, i) => i).filter((i) => matches(i, words)).sort(compare(peers.map((_, i) => tier(i))));
		const changed = next.length !== order.length || next.some((i, at) => i !== order[at]);

		order = next;
		return changed;
	}

	return {
		arrange, latch, state, hostOf,
		factsOf: (i) => factsOf(past.peers()[i]),
		order: () => order,
		learn: (peers) => {
			facts.clear();
			for (const p of peers)
				facts.set(p.name, p);
		},
		/* How many are in each state, shown or not. */
		counts: () => {
			const counts = new Map(STATES.map((s) => [s.name, 0]));

			past.peers().forEach((_, i) => counts.set(state(i), (counts.get(state(i)) || 0) + 1));
			return counts;
		},
	};
})();
