// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- all about one peer, for whoever opened it in the heat map or the table */

const detail = (() => {
	const LINES = [
		['phi', (p) => (p.phi === null ? 'not judged' : `${phiText(p.phi)}, ${p.model}`)],
		['silent for', (p) => time(p.silence_ns)],
		['suspect in', (p) => (p.suspect_in_ns === null ? '–' : time(p.suspect_in_ns))],
		['interval', (p) => time(p.interval_ns)],
		['mean', (p) => time(p.mean_ns)],
		['deviation', (p) => time(p.stddev_ns)],
		['beats', (p) => p.beats.toLocaleString('en')],
		['lost', (p) => (p.lost === null ? 'unknown' : p.lost.toLocaleString('en'))],
		['restarts', (p) => p.restarts.toLocaleString('en')],
		['last spoken by', (p) => p.speaker || '–'],
		['rule or id', (p) => p.rule || p.id || '–'],
	];
	let root,
		parts = null;

	function build() {
		const head = add(root, 'p', {class: 'name'}),
			list = add(root, 'dl');

		parts = {
			name: add(head, 'b'),
			state: add(head, 'span'),
			lab: add(head, 'a', {}, 'its window in the lab'),
			close: add(head, 'button', {type: 'button', 'aria-label': 'Close'}, '×'),
			reason: add(root, 'p', {class: 'note'}),
			values: LINES.map(([title]) => {
				const div = add(list, 'div');

				add(div, 'dt', {}, title);
				return add(div, 'dd');
			}),
		};
		root.insertBefore(parts.reason, list);
		parts.close.addEventListener('click', () => open(null));
	}

	function show() {
		const i = past.peers().findIndex((p) => p.name === view.selected);

		root.hidden = i < 0;
		if (i < 0) return;
		if (!parts) build();
		const facts = rows.factsOf(i),
			peer = past.peers()[i],
			host = rows.hostOf(peer);

		say(parts.name, peer.name);
		say(parts.state, (host ? ' on ' + host : '') + ', ' + rows.state(i));
		say(parts.reason, facts.reason && facts.reason !== '-' ? facts.reason : '');
		mark(parts.lab, 'href', '/lab#' + new URLSearchParams({peer: peer.name}));
		LINES.forEach(([, of], k) => say(parts.values[k], facts.name ? of(facts) : '–'));
	}

	function open(name) {
		view.selected = view.selected === name ? null : name;
		show();
		table.show();
		labels.names();
	}

	return {begin: (element) => (root = element), show, open};
})();
