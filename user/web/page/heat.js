// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the heat map's pixels. The canvas moves itself to the left and only what is new is painted, so a thousand peers
   cost a frame no more than a few columns of pixels. */

const heat = (() => {
	const GAP = -1,
		OBSERVER = -2; /* rows of pixels without a peer */
	const STRIP = 10,
		AXIS = 22,
		TALLEST = 22,
		NAMED = 11,
		LOUD_ROW = 7; /* CSS pixels: this host's own row, the axis, a row, a row with a name, one in trouble */
	const BEHIND_NS = 350e6; /* so that the second at the right edge has been told */
	const MOST_LATE_S = 1.5; /* the picture moves on without news for so long, lest it stutters when they are late */
	let box, canvas, context, codes, rowFirst, rowLast, tops, worst;
	let g = null,
		right = 0,
		table = null,
		dirtyFrom = Infinity,
		whole = true,
		slow = false,
		pausedAt_ns = 0;
	let frame_ns = 0,
		frameAt = 0,
		wallOffset_ms = 0;

	/* Where things are: CSS pixels, and `width`, `height`, `row` in pixels of the canvas. */
	function geometry(n) {
		const dpr = Math.min(devicePixelRatio || 1, 2),
			across = box.clientWidth,
			gutter = across < 520 ? 92 : 176;
		const room = Math.min(Math.max(innerHeight * 0.56, 200), 720);
		const strip = (STRIP + 3) * dpr,
			width = Math.max(1, Math.floor((across - gutter) * dpr));
		const row = Math.min(TALLEST, room / Math.max(n, 1)) * dpr,
			whole = row >= 1 ? Math.floor(row) : row; /* below a pixel, rows share one */

		tops = layTops(n, whole, LOUD_ROW * dpr, room * dpr, strip);
		const height = Math.round(Math.max(tops[n], strip + 24 * dpr));

		return {
			dpr,
			gutter,
			n,
			strip,
			width,
			height,
			plot: width / dpr,
			across,
			tall: height / dpr,
			gap: whole >= 6 * dpr ? dpr : 0,
			perSecond: width / view.range,
			named: whole / dpr >= NAMED,
			axis: AXIS,
		};
	}

	/* Where each row begins, in pixels of the canvas. Thin rows make room for the few that are in trouble. */
	function layTops(n, row, loudRow, room, strip) {
		const next = new Float64Array(n + 1),
			loud = rows.order().filter((_, at) => rows.isLoud(at)).length;
		const magnify = row < loudRow && loud && loud * loudRow < room / 2;
		const quiet = magnify ? Math.min(row, (room - loud * loudRow) / Math.max(n - loud, 1)) : row;

		next[0] = strip;
		for (let at = 0; at < n; at++) next[at + 1] = next[at] + (magnify && rows.isLoud(at) ? loudRow : quiet);
		return next;
	}

	function layRows() {
		rowFirst = new Int32Array(g.height).fill(GAP);
		rowLast = new Int32Array(g.height);
		codes = new Uint16Array(g.height);
		rowFirst.fill(OBSERVER, 0, STRIP * g.dpr);
		for (let y = g.strip, first = 0; y < g.height; y++) {
			while (first < g.n && tops[first + 1] <= y) first++;
			if (first >= g.n || (g.gap && y >= tops[first + 1] - g.gap)) continue;
			let last = first;

			while (last + 1 < g.n && tops[last + 1] < y + 1 && tops[last + 1] - tops[last] < 1) last++;
			rowFirst[y] = first;
			rowLast[y] = last;
		}
	}

	function resize() {
		g = geometry(rows.order().length);
		worst = new Uint8Array(past.peers().length);
		canvas.width = g.width;
		canvas.height = g.height;
		canvas.style.width = g.plot + 'px';
		canvas.style.height = g.tall + 'px';
		canvas.style.left = g.gutter + 'px';
		box.style.height = g.tall + g.axis + 'px';
		layRows();
		right = 0;
		whole = true;
	}

	/* The codes of a column of pixels that spans these seconds. */
	function lookUp(first, last) {
		const order = rows.order(),
			slept = past.worstOf(first, last, worst),
			seen = worst.some((cell) => cell);

		for (let y = 0; y < g.height; y++) {
			const from = rowFirst[y];
			let cell = UNKNOWN;

			if (from === OBSERVER) {
				codes[y] = slept ? HELD : seen ? PHI_FIRST : UNKNOWN;
				continue;
			}
			for (let r = from; from !== GAP && r <= rowLast[y]; r++)
				if (RANK[worst[order[r]]] > RANK[cell]) cell = worst[order[r]];
			codes[y] = from === GAP ? UNKNOWN : cell + (slept === LONG ? STALLED : 0);
		}
	}

	const pixelOf = (column) => Math.floor(column * g.perSecond);

	/* Columns of pixels, counted since the host's boot; the last one is excluded. */
	function paint(from, to) {
		const wide = to - from,
			shift = g.dpr > 1 ? 1 : 0;
		let known = -1,
			knownLast = -1;

		if (wide <= 0) return;
		const image = context.createImageData(wide, g.height),
			pixels = new Uint32Array(image.data.buffer);

		for (let x = from; x < to; x++) {
			const first = Math.floor(x / g.perSecond),
				last = Math.max(first, Math.ceil((x + 1) / g.perSecond) - 1);

			if (first !== known || last !== knownLast) lookUp((known = first), (knownLast = last));
			for (let y = 0, at = x - from; y < g.height; y++, at += wide)
				pixels[at] = table[codes[y] * 64 + (((y >> shift) & 7) << 3) + ((x >> shift) & 7)];
		}
		context.putImageData(image, from - (right - g.width), 0);
	}

	/* CLOCK_MONOTONIC of the observer as far as we know. */
	function now_ns() {
		const late_s = Math.min((performance.now() - frameAt) / 1000, MOST_LATE_S);

		return slow ? frame_ns : frame_ns + late_s * 1e9;
	}

	/* The right edge. Whoever wants little motion gets a step a second. */
	function edge_ns() {
		if (pausedAt_ns) return pausedAt_ns;
		return slow ? (Math.floor(frame_ns / 1e9) + 1) * 1e9 : now_ns() - BEHIND_NS;
	}

	/* Once a frame of the screen. Returns whether time has moved on. */
	function draw() {
		if (!frame_ns || !g || (pausedAt_ns && !whole)) return false;
		const next = Math.max(Math.floor((edge_ns() / 1e9) * g.perSecond), right),
			moved = next - right,
			all = whole || moved >= g.width;

		right = next;
		if (moved > 0 && !all) context.drawImage(canvas, -moved, 0);
		paint(all ? right - g.width : Math.max(Math.min(right - moved, dirtyFrom), right - g.width), right);
		dirtyFrom = Infinity;
		whole = false;
		return moved > 0 || all;
	}

	/* The second at `x` CSS pixels of the plot, and back. */
	const columnAt = (x) => Math.floor((right - g.width + x * g.dpr) / g.perSecond);
	const xOf = (column) => (column * g.perSecond - (right - g.width)) / g.dpr;

	function rowAt(y) {
		const row = rowFirst[Math.floor(y * g.dpr)];

		return row >= 0 ? row : null;
	}

	/* Where a row begins, or, for row + 0.5, its middle; CSS pixels. */
	function yOf(row) {
		const at = Math.floor(row),
			top = tops[at];

		return (top + (row - at) * (tops[Math.min(at + 1, g.n)] - top)) / g.dpr;
	}

	return {
		begin: (element, still) => {
			box = element;
			canvas = byId('cells');
			context = canvas.getContext('2d', {alpha: false});
			slow = still;
			table = pixelTables(theme.isDark());
			theme.onChange(() => {
				table = pixelTables(theme.isDark());
				whole = true;
			});
		},
		frame: (frame) => {
			frame_ns = frame.now_ns;
			frameAt = performance.now();
			wallOffset_ms = (frame.realtime_ns ? frame.realtime_ns / 1e6 : Date.now()) - frame_ns / 1e6;
			if (g) dirtyFrom = Math.min(dirtyFrom, pixelOf(frame.column));
		},
		/* What is older than this second is as it was. */
		changedSince: (column) => {
			if (g) dirtyFrom = Math.min(dirtyFrom, pixelOf(column));
		},
		repaint: () => (whole = true),
		pause: (paused) => (pausedAt_ns = paused ? edge_ns() : 0),
		resize,
		draw,
		columnAt,
		xOf,
		rowAt,
		yOf,
		geometry: () => g,
		now_ns,
		wall: (column) => column * 1000 + wallOffset_ms,
		wallOf: (ns) => ns / 1e6 + wallOffset_ms,
	};
})();
