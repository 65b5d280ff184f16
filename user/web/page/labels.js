// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what is written around the heat map: names, the time axis, the cross that marks what is pointed at */

const labels = (() => {
	const STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800];
	const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif',
		BOLD = '600 ' + FONT;
	let canvas,
		context,
		colours = null,
		shortened = new Map();

	function palette() {
		colours =
			colours ||
			Object.fromEntries(
				['ink', 'soft', 'rule', 'paper', 'alarm', 'accent'].map((name) => [
					name,
					theme.colour('--' + name),
				]),
			);
		return colours;
	}

	function resize() {
		const g = heat.geometry();

		canvas.width = Math.round(g.across * g.dpr);
		canvas.height = Math.round((g.tall + g.axis) * g.dpr);
		canvas.style.width = g.across + 'px';
		canvas.style.height = g.tall + g.axis + 'px';
		context.setTransform(g.dpr, 0, 0, g.dpr, 0, 0);
		shortened = new Map();
	}

	/* As much of a text as there is room for. */
	function fit(text, room) {
		const key = context.font + room + text;

		if (!shortened.has(key)) {
			let kept = text;

			while (kept.length > 1 && context.measureText(kept + '…').width > room) kept = kept.slice(0, -1);
			shortened.set(key, context.measureText(text).width <= room ? text : kept + '…');
		}
		return shortened.get(key);
	}

	/* In the order of hosts, the first row of each says whose it is. */
	function hostOfGroup(row) {
		const host = (r) => rows.hostOf(past.peers()[rows.order()[r]]);

		return view.sort === 'host' && host(row) && (!row || host(row) !== host(row - 1)) ? host(row) : '';
	}

	function nameRow(row, at, state) {
		const g = heat.geometry(),
			peer = past.peers()[rows.order()[row]],
			ordinary = state === 'up';
		const loud = ['down', 'suspect'].includes(state),
			selected = peer.name === view.selected;

		context.font = BOLD;
		const word = g.gutter < 120 ? '' : ordinary ? fit(hostOfGroup(row), 80) : state,
			room = g.gutter - 12 - (word ? context.measureText(word).width + 8 : 0);

		context.fillStyle = loud ? colours.alarm : colours.soft;
		if (word) context.fillText(word, g.gutter - 6, at);
		context.font = loud || selected ? BOLD : FONT;
		context.textAlign = 'left';
		context.fillStyle = loud ? colours.alarm : selected ? colours.accent : colours.ink;
		context.fillText(fit(peer.name, room), 2, at);
		context.textAlign = 'right';
	}

	/* Where rows are too thin for names, only those are named who need it, as many as there is room for. */
	function names() {
		const g = heat.geometry(),
			order = rows.order();
		let lowest = -Infinity;

		palette();
		context.clearRect(0, 0, g.gutter, g.tall + 2);
		context.textAlign = 'right';
		context.textBaseline = 'middle';
		context.font = FONT;
		context.fillStyle = colours.soft;
		context.fillText('this host', g.gutter - 6, 6);
		for (let row = 0; row < order.length; row++) {
			const state = rows.state(order[row]),
				middle = heat.yOf(row + 0.5) - (g.gap ? 0.5 : 0);

			const host = g.named ? '' : hostOfGroup(row),
				named = g.named || rows.isLoud(row) || past.peers()[order[row]].name === view.selected;

			if (!named && !(host && middle >= lowest + 13)) continue;
			const at = g.named ? middle : Math.max(middle, lowest + 13, 20);

			if (at > g.tall) break;
			lowest = at;
			if (named) nameRow(row, at, state);
			else nameGroup(host, at);
			if (!g.named) lead(at, middle, named);
		}
	}

	function nameGroup(host, at) {
		context.font = FONT;
		context.fillStyle = colours.soft;
		context.fillText(fit(host, heat.geometry().gutter - 12), heat.geometry().gutter - 8, at);
	}

	/* A line from a name to its row, if they are not on one height. */
	function lead(at, middle, loud) {
		const g = heat.geometry();

		context.strokeStyle = loud ? colours.alarm : colours.rule;
		context.beginPath();
		context.moveTo(g.gutter - 5, at);
		context.lineTo(g.gutter - 1, middle);
		context.stroke();
	}

	function axis() {
		const g = heat.geometry(),
			top = g.tall,
			most = Math.max(2, Math.floor(g.plot / 86));
		const step = STEPS.find((s) => view.range / s <= most) || 1800,
			last = heat.columnAt(g.plot);
		const first = Math.ceil(heat.wall(heat.columnAt(0)) / 1000 / step) * step,
			away = -new Date().getTimezoneOffset() * 60;

		palette();
		context.clearRect(0, top, g.across, g.axis);
		context.font = FONT;
		context.textBaseline = 'alphabetic';
		context.textAlign = 'center';
		/* Steps of an hour's quarter are those of the reader's own clock, half an hour's zones included. */
		for (let s = first - ((((first + away) % step) + step) % step); s <= heat.wall(last) / 1000; s += step) {
			const x = g.gutter + heat.xOf(s - heat.wall(0) / 1000);

			if (x < g.gutter) continue;
			context.fillStyle = colours.rule;
			context.fillRect(Math.round(x), top + 1, 1, 5);
			if (x < g.gutter + 26 || x > g.across - 62) continue;
			context.fillStyle = colours.soft;
			context.fillText(step < 60 ? clock(s * 1000) : clock(s * 1000).slice(0, 5), x, top + 18);
		}
		context.textAlign = 'right';
		context.fillStyle = view.paused ? colours.alarm : colours.soft;
		context.fillText(view.paused ? 'paused' : 'now', g.across - 2, top + 18);
	}

	function cross(at) {
		const g = heat.geometry();

		palette();
		context.clearRect(g.gutter, 0, g.plot, g.tall);
		if (!at) return;
		const y = heat.yOf(at.row),
			x = g.gutter + heat.xOf(at.column),
			wide = Math.max(1, g.perSecond / g.dpr),
			tall = Math.max(heat.yOf(at.row + 1) - y - g.gap / g.dpr, 2);

		context.strokeStyle = colours.paper;
		context.lineWidth = 3;
		context.strokeRect(g.gutter + 0.5, y - 1, g.plot - 1, tall + 1);
		context.strokeStyle = colours.ink;
		context.lineWidth = 1;
		context.strokeRect(g.gutter + 0.5, y - 1, g.plot - 1, tall + 1);
		context.fillStyle = colours.ink;
		context.globalAlpha = 0.35;
		context.fillRect(x + wide / 2 - 0.5, 0, 1, g.tall);
		context.globalAlpha = 1;
		context.strokeRect(x - 0.5, y - 1.5, wide + 1, tall + 2);
	}

	return {
		begin: () => {
			canvas = byId('over');
			context = canvas.getContext('2d');
			theme.onChange(() => (colours = null));
		},
		resize,
		names,
		axis,
		cross,
	};
})();
