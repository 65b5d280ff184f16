// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the events, newest first, as many as a person would ever read */

const events = (() => {
	const MOST = 300,
		SEEN = 4000; /* the server keeps 1,000 */
	/* A daemon that was started anew counts from 1 again, so the moment belongs to the number. */
	const seen = new Set();
	let root,
		items = [],
		waiting = [],
		onEvent = () => {};

	const causes = {
		stall: 'this host stalled',
		correlated: 'too many at once',
		bound: 'a hold lasts 60 s at most',
		never_heard: 'never heard',
		declared_down: 'its own watcher says so',
		beat: 'a beat came',
		leave: 'it said goodbye',
		restart: 'a new life',
		reset: 'it was reset',
		carrier: 'no carrier',
		hook: 'the program is gone',
		mute: 'muted',
	};

	function words(e) {
		const parts = [];

		if (e.consumer) parts.push('for ' + e.consumer);
		if (e.type === 'suspect' && e.silence_ns)
			parts.push(`silent ${time(e.silence_ns)}, phi ${phiText(e.phi)} (${e.model})`);
		else if (causes[e.cause]) parts.push(causes[e.cause]);
		else if (e.cause) parts.push(e.cause.replaceAll('_', ' '));
		if (e.length_ns)
			parts.push(time(e.length_ns) + (e.cpu === null || e.cpu === undefined ? '' : ' on CPU ' + e.cpu));
		if (e.detail) parts.push(e.detail);
		return parts.join('; ');
	}

	function make(e) {
		const div = document.createElement('div'),
			ms = Date.parse(e.time);

		div.className = 'event';
		div.dataset.type = e.type;
		add(div, 'time', {datetime: e.time, title: clockFully(ms)}, clock(ms));
		add(div, 'b', {}, e.type.replaceAll('_', ' '));
		const about = e.peer || e.subject;

		if (e.peer)
			add(div, 'button', {type: 'button', class: 'link'}, e.peer).addEventListener('click', () =>
				detail.open(e.peer),
			);
		else if (about) add(div, 'span', {}, about);
		add(div, 'span', {class: 'note'}, words(e));
		return {div, text: [e.type, e.peer, e.host, e.subject, e.consumer].join(' ').toLowerCase()};
	}

	function matches(item) {
		return view.text
			.toLowerCase()
			.split(/\s+/)
			.filter(Boolean)
			.every((word) => item.text.includes(word));
	}

	/* Lines of the current state share moment and number; `state` and `lost` have none. */
	function take(e) {
		const key = [e.monotonic_ns, e.seq, e.type, e.peer, e.consumer].join('/');

		if (e.type === 'lost')
			verdict.banner('lost events', count(e.count, 'event') + ' were lost on their way here.');
		if (!e.time || seen.has(key)) return;
		seen.add(key);
		if (seen.size > SEEN) seen.delete(seen.values().next().value);
		waiting.push(e);
		onEvent(e);
	}

	/* Many at once are one change of the document. */
	function flush() {
		if (!waiting.length) return;
		const made = waiting.slice(-MOST).reverse().map(make),
			held = root.scrollTop > 4 ? root.scrollHeight : 0;

		made.forEach((item) => (item.div.hidden = !matches(item)));
		if (!items.length) root.replaceChildren();
		root.prepend(...made.map((item) => item.div));
		items = [...made, ...items];
		items.splice(MOST).forEach((item) => item.div.remove());
		/* Whoever reads further down is not moved. */
		if (held) root.scrollTop += root.scrollHeight - held;
		waiting = [];
	}

	return {
		begin: (element, listener) => {
			root = element;
			onEvent = listener;
		},
		take,
		flush,
		filter: () => items.forEach((item) => (item.div.hidden = !matches(item))),
	};
})();
