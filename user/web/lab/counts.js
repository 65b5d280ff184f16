// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the score: mistakes, the pause, and how long a death would go unnoticed now. One is bought with the other. */

function showCounts(table, lanes, injected) {
	table.replaceChildren();
	const head =
			(add(table, 'caption', {class: 'hidden'}, 'False alarms and detections'),
			add(add(table, 'thead'), 'tr')),
		body = add(table, 'tbody');

	['detector', 'intervals judged', 'false alarms', 'injected pause', 'a death now is told after'].forEach(
		(title, i) => add(head, 'th', {scope: 'col', class: i ? null : 'words'}, title),
	);
	for (const lane of lanes) {
		const tr = add(body, 'tr', {'data-detector': lane.name}),
			th = add(tr, 'th', {scope: 'row', class: 'words'});

		add(th, 'i', {class: 'key', 'aria-hidden': 'true'}).style.backgroundColor =
			lane.name === 'fixed' ? 'var(--ink)' : `var(${modelColour(lane.name)})`;
		add(th, 'span', {}, lane.name === 'fixed' ? 'fixed timeout' : lane.name);
		add(tr, 'td', {}, lane.judged.toLocaleString('en'));
		add(tr, 'td', {'data-bad': lane.mistakes ? 'yes' : null}, lane.mistakes ? '✕ ' + lane.mistakes : '0');
		add(
			tr,
			'td',
			{'data-good': lane.found ? 'yes' : null},
			!injected
				? 'none injected'
				: lane.found
					? `● after ${time(lane.after_ns)}`
					: lane.after_ns === null
						? 'not judged yet'
						: 'missed',
		);
		add(tr, 'td', {}, lane.crash_ns === null ? '–' : time(lane.crash_ns));
	}
}

/* A sentence about the timeout against the models that did better on both counts. */
function moral(lanes, injected) {
	const fixed = lanes.find((l) => l.name === 'fixed'),
		rivals = lanes.filter((l) => l !== fixed && l.crash_ns !== null);
	const wins = (l) =>
		l.mistakes <= fixed.mistakes &&
		l.crash_ns <= fixed.crash_ns &&
		(l.mistakes < fixed.mistakes || l.crash_ns < fixed.crash_ns) &&
		(!injected || l.found || !fixed.found);
	const namesOf = (some) => some.map((l) => l.name).join(some.length === 2 ? ' and ' : ', ');
	const better = rivals.filter(wins),
		clean = rivals.filter((l) => !l.mistakes && (!injected || l.found)),
		times = fixed.mistakes === 1 ? 'once' : fixed.mistakes + ' times';

	if (better.length)
		return better.length === 1
			? `${namesOf(better)} is no more often wrong than this timeout and tells a death no later.`
			: `${namesOf(better)} are no more often wrong than this timeout and tell a death no later.`;
	if (fixed.mistakes && clean.length)
		return `This timeout was wrong ${times}. Never wrong${injected ? ', and told the pause' : ''}: ${namesOf(clean)}.`;
	if (fixed.mistakes)
		return `This timeout was wrong ${times}. Drag it up until it is not, and see what a death then costs.`;
	return 'Nothing here beats this timeout on this sender. Add loss or jitter, and see which line follows.';
}
