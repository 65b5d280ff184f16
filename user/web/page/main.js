// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the page: who is told what, and when */

addEventListener('DOMContentLoaded', () => {
	const ARRANGE_MS = 1000,
		REBOOT_S = 10,
		FACTS_MS = 1000,
		FACTS_MS_A_PEER = 3,
		SORTS = ['worst', 'name', 'host'];
	const cost = []; /* milliseconds that the last frames took, for whoever asks: page.cost */
	let frame = {daemon: true},
		widest = 0,
		stale = true,
		arrangeAt = 0;

	/* --- the past that the server remembers, as much as the range needs */

	const remember = (seconds) =>
		ask('/api/v1/history?seconds=' + seconds).then(
			(h) => {
				past.history(h);
				verdict.banner('history', null);
				widest = Math.max(widest, seconds);
				heat.repaint();
				verdict.banner(
					'truncated',
					h.truncated
						? `${count(h.truncated, 'peer')} beyond the first 4,096 have no past here, only their present.`
						: null,
				);
			},
			(why) => verdict.banner('history', 'The past is missing: ' + why.message),
		);

	function onEvent(e) {
		if (e.type === 'stall' && e.length_ns)
			heat.changedSince(past.stall(e.monotonic_ns - e.length_ns, e.monotonic_ns));
		if (e.peer && e.consumer) rows.latch(e);
		stale = true;
	}

	const recall = () =>
		ask('/api/v1/events').then(
			(list) => {
				list.forEach(events.take);
				verdict.banner('events', null);
			},
			(why) => verdict.banner('events', 'The events are missing: ' + why.message),
		);

	/* --- layout and order */

	function lay() {
		heat.resize();
		labels.resize();
		labels.names();
		labels.axis();
		pointer.show();
	}

	/* Rows that somebody points at, or has paused, stay where they are; what is said of them does not. */
	function arrange(now = true) {
		const before = rows.order();

		rows.look();
		if ((now || !(view.paused || pointer.isMouse())) && rows.arrange()) {
			if (heat.geometry().named && before.length === rows.order().length) heat.repaint();
			else lay();
			pointer.follow(before);
		}
		labels.names();
		table.refresh();
		detail.show();
		legend.count(rows.counts());
		verdict.show(frame);
		say(
			byId('shown'),
			rows.order().length < past.peers().length
				? `${rows.order().length} of ${past.peers().length} shown`
				: '',
		);
		stale = false;
		arrangeAt = performance.now() + ARRANGE_MS;
	}

	/* Once a frame of the screen; what costs more than pixels happens once a second, or when something has changed. */
	function tick() {
		const began = performance.now();

		if (began >= arrangeAt || stale) {
			arrange(false);
			events.flush();
		}
		if (heat.draw()) {
			labels.axis();
			if (pointer.isAt()) pointer.show();
		}
		cost.push(performance.now() - began);
		if (cost.length > 600) cost.shift();
		requestAnimationFrame(tick);
	}

	/* --- what the reader wants */

	const chooseSort = choice(byId('sort'), (sort) => {
		view.sort = sort;
		arrange();
	});
	const chooseRange = choice(byId('range'), (range) => {
		view.range = Number(range);
		chooseRange(range);
		lay();
		if (view.range > widest) remember(view.range);
	});

	function setRange(range) {
		byId('range').querySelector(`[value="${range}"]`).click();
	}

	function pause() {
		view.paused = !view.paused;
		heat.pause(view.paused);
		mark(byId('pause'), 'aria-pressed', String(view.paused));
		say(byId('pause'), view.paused ? 'go on' : 'pause');
		labels.axis();
		heat.repaint();
		stale = true;
	}

	function filter(text) {
		view.text = text;
		arrange();
		events.filter();
	}

	function nextSort() {
		view.sort = SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length];
		chooseSort(view.sort);
		arrange();
	}

	function begin() {
		heat.begin(byId('heat'), matchMedia('(prefers-reduced-motion: reduce)').matches);
		labels.begin();
		pointer.begin(byId('heat'));
		table.begin(byId('table'));
		detail.begin(byId('detail'));
		events.begin(byId('events'), onEvent);
		legend.begin(arrange);
		guard.begin(byId('guard'));
		theme.begin();
		theme.onChange(lay);
		chooseSort(view.sort);
		chooseRange(view.range);
		byId('pause').addEventListener('click', pause);
		byId('help-open').addEventListener('click', () => byId('help').showModal());
		byId('filter').addEventListener('input', (event) => filter(event.target.value));
		new ResizeObserver(() => requestAnimationFrame(lay)).observe(document.querySelector('main'));
		listenToKeys({
			'/': () => byId('filter').focus(),
			s: nextSort,
			p: pause,
			t: theme.next,
			'?': () => byId('help').showModal(),
			1: () => setRange(60),
			2: () => setRange(600),
			3: () => setRange(3600),
			Escape: () => {
				byId('filter').value = '';
				filter('');
			},
		});
	}

	begin();
	rows.arrange();
	lay();
	openStream({
		roster: (peers) => {
			past.roster(peers);
			rows.roster();
			rows.arrange();
			lay();
			stale = true;
			remember(Math.max(widest, view.range));
		},
		frame: (next) => {
			const cells = bytesOf(next.cells),
				before = frame;

			/* The host was booted anew: its clock began again, and the past is another one's. */
			if (next.column < past.newest() - REBOOT_S) {
				past.forget();
				lay();
			}

			frame = next;
			if (cells.length === past.peers().length) past.frame(next.column, cells);
			heat.frame(next);
			stale = rows.look() || next.stalled !== before.stalled || next.daemon !== before.daemon || stale;
			if (next.stalled) heat.changedSince(past.stall(next.now_ns, next.now_ns));
		},
		event: events.take,
		opened: recall,
		state: (live, since) => {
			verdict.live(live, since);
			if (live && widest) remember(widest);
		},
	});
	askEvery(
		'/api/v1/peers',
		() => Math.max(FACTS_MS, past.peers().length * FACTS_MS_A_PEER),
		(peers) => {
			rows.learn(peers);
			stale = true;
			verdict.banner('peers', null);
		},
		(why) => verdict.banner('peers', 'What is known of the peers could not be read: ' + why.message),
	);
	requestAnimationFrame(tick);
	globalThis.page = {cost};
});
