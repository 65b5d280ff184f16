// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the table: as many elements as are seen, whatever the number of peers */

const table = (() => {
	const ROW = 30; /* CSS pixels, as in the style */
	const COLUMNS_SHOWN = [
		{key: 'name', title: 'peer', words: true, of: (i) => past.peers()[i].name, order: (i) => rows.place(i)},
		{key: 'host', title: 'host', words: true, of: (i) => rows.hostOf(past.peers()[i])},
		{
			key: 'state',
			title: 'state',
			words: true,
			of: (i) => rows.state(i),
			order: (i) => STATES.findIndex((s) => s.name === rows.state(i)),
		},
		{
			key: 'phi',
			title: 'phi',
			of: (i) => phiText(rows.factsOf(i).phi),
			order: (i) => -(rows.factsOf(i).phi || 0),
		},
		{key: 'model', title: 'model', words: true, of: (i) => rows.factsOf(i).model || ''},
		...[
			['silence_ns', 'silence', -1],
			['suspect_in_ns', 'suspect in', 1],
			['mean_ns', 'mean', 1],
			['stddev_ns', 'deviation', -1],
		].map(([key, title, sign]) => ({
			key,
			title,
			of: (i) => duration(rows.factsOf(i)[key]),
			order: (i) => sign * (rows.factsOf(i)[key] ?? sign * Infinity),
		})),
		...['beats', 'lost'].map((key) => ({
			key,
			title: key,
			of: (i) => numberText(rows.factsOf(i)[key]),
			order: (i) => -(rows.factsOf(i)[key] ?? -1),
		})),
		{key: 'reason', title: 'why', words: true, of: (i) => rows.factsOf(i).reason || ''},
	];
	const pool = []; /* the rows that are in the document */
	let root,
		body,
		above,
		below,
		list = [],
		sorted = null,
		descending = false,
		cursor = -1;

	const duration = (ns) => (ns === undefined || ns === null ? '–' : time(ns));
	const numberText = (n) => (n === undefined || n === null ? '–' : n.toLocaleString('en'));

	function head() {
		const t = add(root, 'table', {role: 'presentation'}),
			tr = add(add(t, 'thead', {role: 'rowgroup'}), 'tr', {role: 'row', 'aria-rowindex': 1});

		for (const c of COLUMNS_SHOWN) {
			const th = add(tr, 'th', {
				role: 'columnheader',
				class: 'c-' + c.key + (c.words ? ' words' : ''),
				'aria-sort': 'none',
			});

			c.button = add(th, 'button', {type: 'button'}, c.title);
			c.button.addEventListener('click', () => sortBy(c));
		}
		body = add(t, 'tbody', {role: 'rowgroup'});
		above = add(add(body, 'tr', {'aria-hidden': 'true'}), 'td', {
			colspan: COLUMNS_SHOWN.length,
			class: 'spacer',
		});
		below = add(add(body, 'tr', {'aria-hidden': 'true'}), 'td', {
			colspan: COLUMNS_SHOWN.length,
			class: 'spacer',
		});
	}

	/* Upwards, downwards, and then again as the heat map has it. */
	function sortBy(column) {
		if (sorted !== column) [sorted, descending] = [column, false];
		else if (!descending) descending = true;
		else sorted = null;
		for (const c of COLUMNS_SHOWN)
			mark(
				c.button.parentNode,
				'aria-sort',
				c !== sorted ? 'none' : descending ? 'descending' : 'ascending',
			);
		refresh();
	}

	function arrange() {
		list = rows.order();
		if (!sorted) return;
		const value = sorted.order || sorted.of,
			keys = new Map(list.map((i) => [i, value(i)])),
			sign = descending ? -1 : 1;

		list = [...list].sort((a, b) => {
			const x = keys.get(a),
				y = keys.get(b);

			return (
				sign * (typeof x === 'string' ? byName(x, y) : x === y ? 0 : x - y) ||
				rows.place(a) - rows.place(b)
			);
		});
	}

	function makeRow() {
		const tr = document.createElement('tr');

		mark(tr, 'role', 'row');
		for (const c of COLUMNS_SHOWN) {
			const td = add(tr, 'td', {role: 'gridcell', class: 'c-' + c.key + (c.words ? ' words' : '')});

			if (c.key === 'state') add(td, 'i', {'aria-hidden': 'true', class: 'dot'});
			add(td, 'span');
		}
		tr.addEventListener('click', () => detail.open(tr.dataset.name));
		body.insertBefore(tr, below.parentNode);
		return tr;
	}

	function fillRow(tr, at) {
		const i = list[at],
			peer = past.peers()[i],
			state = rows.state(i);

		tr.dataset.name = peer.name;
		mark(tr, 'id', 'row-' + at);
		mark(tr, 'aria-rowindex', at + 2);
		mark(tr, 'aria-selected', peer.name === view.selected);
		mark(tr, 'data-state', state);
		mark(tr, 'data-cursor', at === cursor ? 'yes' : null);
		COLUMNS_SHOWN.forEach((c, k) => say(tr.children[k].lastChild, c.of(i)));
		mark(tr.lastChild, 'title', rows.factsOf(i).reason || null);
		paintDot(tr.querySelector('.dot'), past.present(i));
	}

	function paintDot(dot, cell) {
		const phi = cellPhi(cell),
			dark = theme.isDark(),
			pattern = PATTERNS[cell];
		const colour =
			phi !== null
				? `rgb(${phiColour(phi, dark)})`
				: pattern
					? pattern[dark ? 'dark' : 'light'][1]
					: 'transparent';

		if (dot.dataset.colour !== colour) dot.style.backgroundColor = dot.dataset.colour = colour;
	}

	/* What is scrolled into sight, and a row more. */
	function show() {
		const first = Math.max(0, Math.floor(root.scrollTop / ROW) - 1),
			most = Math.ceil(root.clientHeight / ROW) + 2;
		const last = Math.min(list.length, first + most);

		while (pool.length < last - first) pool.push(makeRow());
		pool.forEach((tr, k) => {
			tr.hidden = first + k >= last;
			if (!tr.hidden) fillRow(tr, first + k);
			else mark(tr, 'id', null);
		});
		above.style.height = first * ROW + 'px';
		below.style.height = (list.length - last) * ROW + 'px';
		root.style.setProperty('--rows', list.length);
		mark(root, 'aria-rowcount', list.length + 1);
		mark(root, 'aria-activedescendant', cursor >= first && cursor < last ? 'row-' + cursor : null);
	}

	function refresh() {
		arrange();
		cursor = Math.min(cursor, list.length - 1);
		show();
	}

	function key(event) {
		const page = Math.max(1, Math.floor(root.clientHeight / ROW) - 2);
		const to = {
			ArrowUp: cursor - 1,
			ArrowDown: cursor + 1,
			PageUp: cursor - page,
			PageDown: cursor + page,
			Home: 0,
			End: list.length - 1,
		}[event.key];

		if (event.target !== root || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === 'Enter' && list[cursor] !== undefined) detail.open(past.peers()[list[cursor]].name);
		else if (to !== undefined && list.length) {
			cursor = Math.max(0, Math.min(list.length - 1, to));
			/* The head covers one row. */
			root.scrollTop = Math.min(
				Math.max(root.scrollTop, (cursor + 2) * ROW - root.clientHeight),
				cursor * ROW,
			);
			show();
		} else return;
		event.preventDefault();
	}

	return {
		begin: (element) => {
			root = element;
			head();
			root.addEventListener('scroll', show, {passive: true});
			root.addEventListener('keydown', key);
			theme.onChange(show);
		},
		refresh,
		show,
	};
})();
