// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- this observer: what it hears with, when it slept, and what it therefore holds back */

const guard = (() => {
	const STALLS = 5,
		NAMES = 6,
		TOGETHER_NS = 200e6;
	let root;

	function line(title, text, bad) {
		const div = document.createElement('div');

		div.className = bad ? 'line bad' : 'line';
		add(div, 'b', {}, title);
		add(div, 'span', {}, text);
		return div;
	}

	const some = (names) =>
		names.slice(0, NAMES).join(', ') + (names.length > NAMES ? ` and ${names.length - NAMES} more` : '');

	function devices(g) {
		if (!g.devices) return [line('devices', g.devices_unknown || 'not for you to see')];
		if (!g.devices.length) return [line('devices', 'none is attached: nothing can be heard', true)];
		return g.devices.map((d) =>
			line(d.device, d.blind ? 'blind: ' + d.reason : d.state === 'unknown' ? d.reason : 'hears', d.blind),
		);
	}

	function cpus(g) {
		const stalled = g.cpus.filter((c) => c.state === 'stalled');

		if (stalled.length)
			return line(
				'now',
				some(stalled.map((c) => `CPU ${c.cpu} stalled for ${time(c.open_stall_ns)}`)),
				true,
			);
		return line(
			'watched',
			g.cpus_ticking
				? `${count(g.cpus_ticking, 'CPU')} of ${g.cpus_possible}, ${g.wakeups_per_second} wake-ups a second`
				: 'no CPU takes beats',
		);
	}

	/* All CPUs slept through the same moment: one stall to a reader. */
	function stalls(g) {
		const together = [];

		for (const s of g.stalls) {
			const same = together.find((t) => Math.abs(t.ago_ns - s.ago_ns) < TOGETHER_NS);

			if (!same) together.push({...s, cpus: [s.cpu]});
			else if (!same.cpus.includes(s.cpu))
				Object.assign(same, {
					cpus: [...same.cpus, s.cpu],
					length_ns: Math.max(same.length_ns, s.length_ns),
				});
		}
		const latest = together
			.slice(0, STALLS)
			.map((s) =>
				line(
					'stalled ' + time(s.length_ns),
					`${time(s.ago_ns)} ago, CPU${s.cpus.length > 1 ? 's' : ''} ${s.cpus.sort((a, b) => a - b).join(', ')}`,
				),
			);

		return latest.length ? latest : [line('stalls', 'none')];
	}

	function show(g) {
		const lines = [...devices(g), cpus(g), ...stalls(g)];

		if (g.holds.length)
			lines.unshift(
				line(
					'holds back',
					`${count(g.holds.length, 'verdict')}: ${some(g.holds.map((h) => h.peer))}`,
					true,
				),
			);
		if (g.grace.length) lines.unshift(line('in grace', some(g.grace.map((p) => p.peer)), true));
		const text = lines.map((l) => l.textContent).join('\n');

		if (root.dataset.said === text) return;
		root.dataset.said = text;
		root.replaceChildren(...lines);
	}

	return {
		begin: (element) => {
			root = element;
			askEvery(
				'/api/v1/guard',
				() => 2000,
				show,
				(why) => {
					delete root.dataset.said;
					root.replaceChildren(line('unknown', why.message));
				},
			);
		},
	};
})();
