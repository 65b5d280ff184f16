// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what is pointed at in the heat map: by mouse, finger or arrow keys. A finger's tap also opens the peer. */

const pointer = (() => {
	let box,
		tip,
		at = null; /* {row, column, x: where the mouse is, or null for the keyboard} */

	function wordsOf(i, column) {
		const cell = past.cell(column, i),
			phi = cellPhi(cell),
			facts = rows.factsOf(i),
			model = facts.model ? ', ' + facts.model : '';
		const slept = past.wasStalled(column) ? '; this host was stalled' : '';
		const exact = phi === PHI_MOST ? `${PHI_MOST} or more` : String(phi);

		if (phi !== null) return `phi ${exact}${model}${phi >= SUSPECT_PHI ? ': suspect' : ''}${slept}`;
		const state = STATES.find((s) => s.cell === cell);

		return (state ? `${state.name}: ${state.about}` : 'nobody looked') + slept;
	}

	function show() {
		const g = heat.geometry(),
			order = rows.order();

		if (!at || at.row >= order.length) {
			tip.hidden = true;
			labels.cross(null);
			return;
		}
		if (at.x !== null) at.column = heat.columnAt(at.x);
		const i = order[at.row],
			peer = past.peers()[i],
			x = Math.min(Math.max(heat.xOf(at.column), 0), g.plot);
		const said = wordsOf(i, at.column),
			when = clockFully(heat.wall(at.column)),
			host = rows.hostOf(peer);

		labels.cross(at);
		say(tip.children[0], peer.name + (host ? ' on ' + host : ''));
		say(tip.children[1], when);
		say(tip.children[2], said);
		tip.hidden = false;
		/* Beside the cell, on the side where there is room. */
		tip.style.left =
			(x > g.plot / 2 ? Math.max(0, g.gutter + x - tip.offsetWidth - 12) : g.gutter + x + 12) + 'px';
		tip.style.top = Math.min(heat.yOf(at.row) + 6, Math.max(0, g.tall - tip.offsetHeight)) + 'px';
	}

	/* Aloud only if a key has asked for it: a mouse passes hundreds of cells. */
	function read() {
		show();
		if (at) say(byId('heat-said'), [...tip.children].map((c) => c.textContent).join(', '));
	}

	function place(event) {
		const r = box.getBoundingClientRect(),
			g = heat.geometry(),
			x = event.clientX - r.left - g.gutter,
			row = heat.rowAt(event.clientY - r.top);

		at = row === null || x > g.plot ? null : {row, column: heat.columnAt(Math.max(x, 0)), x: Math.max(x, 0)};
		show();
	}

	function select() {
		if (at && at.row < rows.order().length) detail.open(past.peers()[rows.order()[at.row]].name);
	}

	function key(event) {
		const last = rows.order().length - 1,
			across = {ArrowLeft: -1, ArrowRight: 1}[event.key],
			along = {ArrowUp: -1, ArrowDown: 1}[event.key];
		const step = Math.max(1, Math.round(view.range / 120));

		if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
		at = at || {row: along ? -along : 0, column: past.newest(), x: null};
		at.x = null;
		if (across) at.column = Math.max(heat.columnAt(0) + 1, Math.min(past.newest(), at.column + across * step));
		else if (along) at.row = Math.max(0, Math.min(last, at.row + along));
		else if (event.key === 'Home' || event.key === 'End') at.row = event.key === 'Home' ? 0 : last;
		else if (event.key === 'Enter') select();
		else return;
		event.preventDefault();
		read();
	}

	return {
		begin: (element) => {
			box = element;
			tip = byId('tip');
			['b', 'span', 'div'].forEach((tag) => add(tip, tag));
			box.addEventListener('pointermove', place);
			box.addEventListener('pointerdown', (event) => {
				place(event);
				select();
			});
			box.addEventListener('pointerleave', () => {
				at = null;
				show();
			});
			box.addEventListener('focus', () => {
				if (!at && rows.order().length && box.matches(':focus-visible')) {
					at = {row: 0, column: past.newest(), x: null};
					read();
				}
			});
			box.addEventListener('blur', () => {
				at = null;
				show();
			});
			box.addEventListener('keydown', key);
		},
		/* The rows moved: stay with the peer, not with the row, if a key has chosen it. */
		follow: (before) => {
			if (at && at.x === null && before[at.row] !== undefined)
				at.row = Math.max(0, rows.order().indexOf(before[at.row]));
			show();
		},
		show,
		isAt: () => at !== null,
		isMouse: () => at !== null && at.x !== null,
	};
})();
