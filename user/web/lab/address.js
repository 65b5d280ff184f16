// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what the lab shows, as it stands in the address behind the #: whoever has the link sees the same */

const DEFAULTS = {
	source: 'steady',
	peer: null,
	timeout_ms: 0,
	threshold: 8,
	pause: 6,
	at: 300,
	injected: false,
	loss: 0,
	burst: 1,
	jitter: 0,
	seed: 1,
	hidden: [],
};

const within = (text, low, high, otherwise) =>
	text !== null && Number.isFinite(Number(text)) ? Math.min(high, Math.max(low, Number(text))) : otherwise;

function fromAddress(hash) {
	const q = new URLSearchParams(hash.replace(/^#/, '')),
		known = Object.hasOwn(BUILT_IN, q.get('w'));
	/* Who comes without a wish sees what the lab is about; a peer's own window is shown as it is. */
	const [pause, at] = (q.get('pause') || (q.has('peer') ? '0' : DEFAULTS.pause) + '@' + DEFAULTS.at).split('@');

	return {
		source: known ? q.get('w') : DEFAULTS.source,
		peer: known ? null : q.get('peer'),
		timeout_ms: within(q.get('timeout'), 0, 3.6e6, DEFAULTS.timeout_ms),
		threshold: within(q.get('phi'), 0.5, 16, DEFAULTS.threshold),
		injected: Number(pause) > 0,
		pause: within(Number(pause) > 0 ? pause : null, 2, 20, DEFAULTS.pause),
		at: Math.round(within(at ?? null, 0, 4095, DEFAULTS.at)),
		loss: within(q.get('loss'), 0, 30, 0),
		burst: within(q.get('burst'), 1, 8, 1),
		jitter: within(q.get('jitter'), 0, 60, 0),
		seed: Math.round(within(q.get('seed'), 0, 1e9, DEFAULTS.seed)),
		hidden: (q.get('without') || '').split(',').filter(Boolean),
	};
}

function toAddress(s) {
	const q = new URLSearchParams(s.peer === null ? {w: s.source} : {peer: s.peer});

	q.set('timeout', String(Number(s.timeout_ms.toPrecision(4))));
	q.set('phi', String(s.threshold));
	q.set('pause', (s.injected ? s.pause : 0) + '@' + s.at);
	for (const key of ['loss', 'jitter']) if (s[key]) q.set(key, String(s[key]));
	if (s.loss) q.set('burst', String(s.burst));
	q.set('seed', String(s.seed));
	if (s.hidden.length) q.set('without', s.hidden.join(','));
	return '#' + q.toString().replaceAll('%40', '@');
}
