// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
'use strict';

/* Whatever fails is said on the page, not only in a console that nobody has open. */
addEventListener('error', (event) => {
	const p = document.createElement('p');

	p.className = 'warning';
	p.textContent = 'A figure could not be drawn: ' + event.message;
	document.querySelector('main').prepend(p);
	document.documentElement.dataset.error = event.message;
});

(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const DAY = 86400e9;
const peerDays = data.alive / DAY;

/* --- elements: text is only ever set as text, so a name with markup in it is a name */

function add(to, tag, attributes = {}, text) {
	const svg = to.namespaceURI === 'http://www.w3.org/2000/svg' || tag === 'svg';
	const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);

	for (const [key, value] of Object.entries(attributes))
		if (value !== null && value !== undefined)
			element.setAttribute(key, value);
	if (text !== undefined)
		element.textContent = text;
	to.append(element);
	return element;
}

const byId = (id) => document.getElementById(id);

function table(to, caption, heads, rows) {
	const details = add(to, 'details');

	add(details, 'summary', {}, 'As a table');
	fill(add(details, 'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption}), caption, heads, rows);
}

function fill(to, caption, heads, rows) {
	const t = add(to, 'table');
	const head = (add(t, 'caption', {}, caption), add(add(t, 'thead'), 'tr'));
	const body = add(t, 'tbody');

	heads.forEach((h) => add(head, 'th', {scope: 'col'}, h));
	for (const row of rows) {
		const tr = add(body, 'tr');

		row.forEach((cell, i) => add(tr, i ? 'td' : 'th', i ? {} : {scope: 'row'}, cell));
	}
}

/* --- what people read */

const digits = (x) => String(Number(x.toPrecision(3)));

function time(ns) {
	if (!ns)
		return '0 s';
	if (ns < 1e3)
		return digits(ns) + ' ns';
	if (ns < 1e6)
		return digits(ns / 1e3) + ' µs';
	if (ns < 1e9)
		return digits(ns / 1e6) + ' ms';
	if (ns < 120e9)
		return digits(ns / 1e9) + ' s';
	if (ns < 7200e9)
		return digits(ns / 60e9) + ' min';
	return ns < 2 * DAY ? digits(ns / 3600e9) + ' h' : digits(ns / DAY) + ' d';
}

const superscript = (n) => String(n).replace(/./g, (c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]));
const power = (x) => (x >= 0.01 && x < 1e4 ? digits(x) : '10' + superscript(Math.round(Math.log10(x))));
const number = (x) => (x && (x < 0.001 || x >= 1e6) ? x.toExponential(1) : x < 100 ? digits(x) : Math.round(x).toLocaleString('en'));
const rateOf = (mistakes) => mistakes / peerDays;
const rate = (mistakes) => (mistakes ? number(rateOf(mistakes)) + ' a peer and day' : 'none seen');

function settings(curve) {
	const words = [];

	if (curve.pause !== undefined)
		words.push('pause ' + curve.pause / 1000 + ' intervals');
	if (curve.minStd !== undefined)
		words.push('min-std ' + curve.minStd / 1000 + ' of the interval');
	return words.join(', ') || (data.ownSettings ? 'its peers’ own settings' : 'no settings');
}

/* --- scales and axes */

function scale(axis, from, to) {
	const f = axis.log ? Math.log10 : (x) => x;
	const low = f(axis.min), high = f(axis.max);

	return (x) => from + ((f(x) - low) / (high - low || 1)) * (to - from);
}

/* 1, 2, 5 where there is room for them, else powers of ten, or every so many of those. */
function ticks(axis, most) {
	const found = [];

	if (!axis.log) {
		const rough = (axis.max - axis.min) / most, unit = 10 ** Math.floor(Math.log10(rough));
		const step = axis.step || unit * [1, 2, 5, 10].find((m) => m * unit >= rough);

		for (let x = Math.ceil(axis.min / step) * step; x <= axis.max * (1 + 1e-9); x += step)
			found.push(x);
		return found;
	}
	const low = Math.floor(Math.log10(axis.min)), high = Math.ceil(Math.log10(axis.max));
	const decades = Math.log10(axis.max) - Math.log10(axis.min), fine = decades < 4 && 3 * decades <= most;
	const every = Math.ceil((high - low) / most);

	for (let e = low; e <= high; e++)
		for (const m of fine ? [1, 2, 5] : e % every ? [] : [1]) {
			const x = Number(m + 'e' + e);

			if (x >= axis.min * (1 - 1e-9) && x <= axis.max * (1 + 1e-9))
				found.push(x);
		}
	return found;
}

/* Marks that differ in shape, around 0,0. */
const shapes = ['M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0', 'M-3,-3h6v6h-6z', 'M0,-4L4,3H-4z', 'M0,-4L4,0L0,4L-4,0z',
	'M-3,-3L3,3M-3,3L3,-3', 'M-4,0H4M0,-4V4', 'M0,4L4,-3H-4z', 'M-4,0H4M-2,-3V3M2,-3V3', 'M-3,2L0,-3L3,2'];

function drawShape(to, series, x, y) {
	return add(to, 'path', {d: shapes[series.shape], transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`,
		fill: 'none', stroke: series.colour, 'stroke-width': 1.4});
}

/* --- a figure: axes, series, a legend that switches them, and a line that says what is pointed at */

function chart(id, f) {
	const root = byId(id), box = (root.replaceChildren(), add(root, 'div'));
	const said = add(root, 'p', {class: 'said', id: id + '-said', 'aria-live': 'polite'}, f.hint);
	const shown = f.series.filter((s) => s.points.length);
	let geometry = null, at = null, width = 0;

	function place(s, p) {
		return [geometry.x(p.x), p.y > 0 ? geometry.y(p.y) : geometry.none];
	}

	function axes(svg, w, h, m) {
		const bottom = h - m.bottom, grid = add(svg, 'g', {'aria-hidden': 'true'});

		for (const y of ticks(f.y, Math.floor((bottom - m.top - m.band) / 26))) {
			add(grid, 'line', {class: 'grid', x1: m.left, x2: w - m.right, y1: geometry.y(y), y2: geometry.y(y)});
			add(grid, 'text', {x: m.left - 6, y: geometry.y(y) + 4, 'text-anchor': 'end'}, f.y.format(y));
		}
		for (const x of ticks(f.x, Math.floor((w - m.left - m.right) / (f.x.room || 62)))) {
			add(grid, 'line', {class: 'grid', x1: geometry.x(x), x2: geometry.x(x), y1: m.top, y2: bottom});
			add(grid, 'text', {x: geometry.x(x), y: bottom + 16, 'text-anchor': 'middle'}, f.x.format(x));
		}
		if (m.band) {
			add(grid, 'rect', {class: 'band', x: m.left, y: bottom - m.band, width: w - m.left - m.right, height: m.band});
			add(grid, 'text', {x: m.left - 6, y: bottom - m.band / 2 + 4, 'text-anchor': 'end'}, 'none');
		}
		add(grid, 'path', {class: 'axis', d: `M${m.left},${m.top}V${bottom}H${w - m.right}`, fill: 'none'});
		add(grid, 'text', {x: (m.left + w - m.right) / 2, y: h - 4, 'text-anchor': 'middle'}, f.x.label);
		add(grid, 'text', {x: 2, y: 12}, f.y.label);
	}

	function path(s) {
		const bottom = geometry.y(f.y.min);
		let d = '';

		if (s.bars) {
			for (const p of s.points)
				if (p.y > 0)
					d += `M${geometry.x(p.x).toFixed(1)},${bottom}V${geometry.y(Math.max(p.y, f.y.min)).toFixed(1)}H${
						Math.max(geometry.x(p.to), geometry.x(p.x) + 1.5).toFixed(1)}V${bottom}z`;
			return d;
		}
		s.points.forEach((p, i) => {
			const [x, y] = place(s, p);

			d += (i ? 'L' : 'M') + x.toFixed(1) + ',' + y.toFixed(1);
		});
		return d;
	}

	function drawSeries(svg, s) {
		const g = add(svg, 'g', {'data-series': s.name, 'clip-path': `url(#${id}-clip)`});

		if (at && at.s !== s && !s.bars)
			g.setAttribute('class', 'dim');
		if (s.bars) {
			add(g, 'path', {class: 'area', d: path(s), style: s.colour ? 'fill:' + s.colour : null});
			return;
		}
		add(g, 'path', {class: 'series', d: path(s), stroke: s.colour, 'stroke-width': s.width, 'stroke-dasharray': s.dash});
		if (s.shape === undefined)
			return;
		let last = [-Infinity, 0];

		for (const p of s.points) {
			const [x, y] = place(s, p);

			if (Math.hypot(x - last[0], s.steep ? y - last[1] : 0) < (s.apart || 22) && p !== s.points[s.points.length - 1])
				continue;
			drawShape(g, s, x, y);
			last = [x, y];
		}
	}

	/* A second scale, whose steps are not equal: from the top, as many as there is room for. */
	function drawRight(svg, w, m) {
		let last = -Infinity;

		for (const tick of [...(f.right || [])].reverse()) {
			const y = geometry.y(tick.y);

			if (y - last < 14 || y < m.top)
				continue;
			add(svg, 'path', {class: 'grid', d: `M${m.left},${y.toFixed(1)}H${w - m.right + 5}`, 'stroke-dasharray': '1 3'});
			add(svg, 'text', {x: w - m.right + 8, y: y + 4, 'data-tick': tick.text}, tick.text);
			last = y;
		}
	}

	function drawMarks(svg, w) {
		const taken = [];

		for (const mark of f.marks || []) {
			const [x, y] = place(null, mark), right = x > w * 0.7;
			let line = y - 10;

			while (taken.some((other) => Math.abs(other.line - line) < 14 && Math.abs(other.x - x) < 160))
				line -= 14;
			taken.push({line, x});
			add(svg, 'circle', {class: 'ring', cx: x, cy: y, r: 7, 'data-mark': mark.name});
			add(svg, 'text', {class: 'name', x: right ? x - 11 : x + 11, y: line, 'text-anchor': right ? 'end' : 'start'}, mark.name);
		}
	}

	function draw() {
		width = box.clientWidth;
		const w = Math.max(box.clientWidth, 280), h = Math.round(Math.min(f.tall || 440, Math.max(f.low || 300, w * 0.52)));
		const m = {left: f.left || 52, right: f.right ? 76 : 12, top: 24, bottom: 40, band: f.none ? 26 : 0};
		const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');

		geometry = {x: scale(f.x, m.left, w - m.right), y: scale(f.y, h - m.bottom - m.band, m.top), none: h - m.bottom - m.band / 2};
		for (const [key, value] of Object.entries({viewBox: `0 0 ${w} ${h}`, role: 'img', tabindex: 0, 'aria-label': f.title,
			'aria-describedby': id + '-said'}))
			svg.setAttribute(key, value);
		add(add(add(svg, 'defs'), 'clipPath', {id: id + '-clip'}), 'rect', {x: m.left, y: m.top - 6, width: w - m.left - m.right, height: h - m.top - m.bottom + 8});
		axes(svg, w, h, m);
		for (const line of f.lines || []) {
			const d = line.map((p, i) => (i ? 'L' : 'M') + geometry.x(p.x).toFixed(1) + ',' + geometry.y(p.y).toFixed(1)).join('');

			add(svg, 'path', {class: 'limit', d, 'clip-path': `url(#${id}-clip)`});
		}
		drawRight(svg, w, m);
		for (const note of f.notes || [])
			add(svg, 'text', {x: m.left + 6, y: geometry.y(note.y) - 5}, note.text);
		shown.filter((s) => !s.hidden).forEach((s) => drawSeries(svg, s));
		drawMarks(svg, w);
		if (at) {
			const [x, y] = place(at.s, at.p);

			add(svg, 'circle', {class: 'at', cx: x, cy: y, r: 5});
		}
		svg.addEventListener('pointermove', point);
		svg.addEventListener('pointerdown', point);
		svg.addEventListener('pointerleave', () => tell(null));
		svg.addEventListener('keydown', key);
		const focused = document.activeElement === box.firstChild && box.firstChild;

		box.replaceChildren(svg);
		if (focused)
			svg.focus();
	}

	function tell(next) {
		if ((at && at.p) === (next && next.p))
			return;
		at = next;
		said.textContent = at ? at.s.name + ': ' + at.p.text : f.hint;
		draw();
	}

	function point(event) {
		const svg = box.firstChild, r = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / r.width;
		const mx = (event.clientX - r.left) * k, my = (event.clientY - r.top) * k;
		let nearest = null, least = 40;

		for (const s of shown.filter((c) => !c.hidden))
			for (const p of s.points) {
				const [x, y] = place(s, p);
				const d = s.bars ? (mx >= x && mx < geometry.x(p.to) ? 39 : 99) : Math.hypot(x - mx, y - my);

				if (d < least) {
					least = d;
					nearest = {s, p};
				}
			}
		tell(nearest);
	}

	/* Left and right along a series, up and down from one to the next. */
	function key(event) {
		const visible = shown.filter((s) => !s.hidden);
		const along = {ArrowLeft: -1, ArrowRight: 1}[event.key] || 0, across = {ArrowUp: -1, ArrowDown: 1}[event.key] || 0;

		if (event.key === 'Escape')
			tell(null);
		if ((!along && !across) || !visible.length)
			return;
		event.preventDefault();
		const i = at ? visible.indexOf(at.s) : 0;
		const s = visible[(i + across + visible.length) % visible.length];
		const k = at ? (across ? Math.round((at.s.points.indexOf(at.p) / at.s.points.length) * s.points.length) : at.s.points.indexOf(at.p) + along) : 0;

		tell({s, p: s.points[Math.max(0, Math.min(k, s.points.length - 1))]});
	}

	function legend() {
		const list = add(root, 'ul', {class: 'legend', 'aria-label': 'Show or hide'});

		for (const s of shown) {
			const button = add(add(list, 'li'), 'button', {type: 'button', 'aria-pressed': String(!s.hidden), title: s.about});
			const swatch = add(button, 'svg', {viewBox: '0 0 34 12', 'aria-hidden': 'true'});

			if (s.bars)
				add(swatch, 'rect', {class: 'area', width: 34, height: 12});
			else
				add(swatch, 'path', {d: 'M0,6H34', stroke: s.colour, 'stroke-width': s.width, 'stroke-dasharray': s.dash, fill: 'none'});
			if (s.shape !== undefined)
				drawShape(swatch, s, 17, 6);
			add(button, 'span', {}, s.name);
			button.addEventListener('click', () => {
				s.hidden = !s.hidden;
				at = null;
				button.setAttribute('aria-pressed', String(!s.hidden));
				draw();
			});
		}
	}

	if (shown.length > 1)
		legend();
	draw();
	new ResizeObserver(() => requestAnimationFrame(() => {
		if (box.isConnected && box.clientWidth !== width)
			draw();
	})).observe(box);
	table(root, f.title, f.heads, shown.flatMap((s) => s.points.map((p) => [s.name, ...p.cells])));
}

/* --- who is drawn how: models in colour, and yardsticks in grey with marks */

const dashes = ['7 3', '2 3', '9 3 2 3', '4 4', '1 3', '12 4', '6 2 2 2', '3 2', '10 2 2 2 2 2'];
const models = data.rivals.filter((r) => r.model), yardsticks = data.rivals.filter((r) => !r.model);
const colour = (name) => `var(--c${models.findIndex((r) => r.name === name) % 6})`;

const parameter = (r, at) => (r.time ? time(Number(at)) : digits(Number(at)));

function tradeoffPoint(r, c, p) {
	return {
		x: p.p99, y: rateOf(p.mistakes), mistakes: p.mistakes,
		text: `${r.parameter} ${parameter(r, p.at)}${r.model ? ' (' + settings(c) + ')' : ''}: ${rate(p.mistakes)} (${p.mistakes} in all); detects in ` +
			`${time(p.p50)} (median), ${time(p.p99)} (99 of 100), ${time(p.max)} (longest)`,
		cells: [parameter(r, p.at), r.model ? settings(c) : '', String(p.mistakes), p.mistakes ? number(rateOf(p.mistakes)) : 'none seen', time(p.p50), time(p.p99), time(p.max)],
	};
}

/* From the hastiest to the first that makes no mistake: whoever waits longer only waits longer. */
function upToNone(points) {
	const none = points.findIndex((p) => !p.mistakes);

	return none < 0 ? points : points.slice(0, none + 1);
}

/* Of all settings of a model those that no other beats. */
function front(r) {
	const all = r.curves.flatMap((c) => c.points.map((p) => tradeoffPoint(r, c, p)));
	let least = Infinity;

	all.sort((a, b) => a.x - b.x || a.mistakes - b.mistakes);
	return upToNone(all.filter((p) => p.mistakes < least && ((least = p.mistakes), true)));
}

function tradeoffSeries() {
	const series = yardsticks.map((r, i) => ({
		name: r.name, about: r.source, colour: 'var(--y)', width: 1.3, dash: dashes[i % dashes.length], shape: (i + 4) % shapes.length,
		points: upToNone(r.curves[0].points.map((p) => tradeoffPoint(r, r.curves[0], p))),
	}));

	for (const r of [...models].sort((a) => (a.name === data.chosenModel ? 1 : -1))) {
		const tunable = r.curves.length > 1;

		if (tunable)
			series.push({name: r.name + ', as recorded', about: 'with the pause and the min-std that its peers were given', colour: colour(r.name), width: 1.6, dash: '5 4',
				points: upToNone(r.curves[0].points.map((p) => tradeoffPoint(r, r.curves[0], p)))});
		series.push({name: r.name, about: tunable ? 'with the best pause and min-std' : '', colour: colour(r.name), width: 2.8, shape: models.indexOf(r), apart: 60,
			points: front(r)});
	}
	return series;
}

function tradeoff() {
	const series = tradeoffSeries(), met = data.targets.filter((t) => t.met);
	const drawn = series.flatMap((s) => s.points), ours = series.filter((s) => s.width > 1.5).flatMap((s) => s.points);
	const xs = drawn.map((p) => p.x), low = rateOf(1), seen = drawn.filter((p) => p.y > 0).map((p) => p.y);
	const farthest = Math.max(...ours.map((p) => p.x), ...met.map((t) => t.p99));

	byId('tradeoff-caveat').textContent = `${number(peerDays)} peer-days cannot prove fewer than one mistake in as many: “none” here still allows ` +
		`${number(3 / peerDays)} a peer and day (95 %), and where a line lies by a handful of mistakes, chance has put it there.`;
	chart('tradeoff', {
		title: 'False suspicions per peer-day against detection time', series, none: true, tall: 560, low: 380,
		hint: 'Point at a line, or walk along it with the arrow keys, to read its settings. Names below switch lines off and on.',
		x: {log: true, min: Math.min(...xs.filter((x) => x > 0)) / 1.1, max: Math.min(Math.max(...xs), farthest * 4) * 1.15, label: 'detection time of 99 crashes in 100', format: time},
		y: {log: true, min: low / 1.5, max: Math.max(low * 10, ...seen) * 1.5, label: 'false suspicions a peer and day', format: power},
		lines: [[{x: 1, y: low}, {x: 1e18, y: low}]], notes: [{y: low, text: 'one in the whole trace'}],
		marks: met.map((t) => ({name: t.name, x: t.p99, y: rateOf(t.mistakes)})),
		heads: ['detector', 'at', 'settings', 'mistakes', 'a peer and day', 'median', '99 of 100', 'longest'],
	});
}

/* --- intervals: of all peers or of one */

/* The lower edge of a bin, in multiples of the peer's interval: 32 an octave, the first at 2^-10. */
const edge = (bin) => 2 ** (Math.floor(bin / 32) - 10) * (1 + (bin % 32) / 32);

/* A model's chance of an interval longer than an edge. */
const later = (model, bin) => (bin < model.first ? 1 : 10 ** -(model.phi[bin - model.first] ?? 99));

/* What a stall has dammed up arrives at once: such intervals are many decades down, and of no interest here. */
const SHORTEST = 0.1;
const times = (x) => digits(x) + ' ×';
const modelDash = (name) => [null, '7 3', '2 3', '9 3 2 3', '4 4'][models.findIndex((r) => r.name === name)];
const whose = (h) => (h.peer === null ? '' : ` of ${h.peer}`);

function histogram(h) {
	const STEP = Math.log(2) / 32, join = Math.ceil(h.n.length / 220), total = h.n.reduce((sum, n) => sum + n, 0);
	const bins = [];

	for (let i = 0; i < h.n.length; i += join) {
		const first = h.first + i, end = Math.min(h.first + i + join, h.first + h.n.length), from = edge(first), to = edge(end);

		/* Bins are equally wide within an octave and not in all: as if each were one 32nd of an octave. */
		bins.push({from, to, as: STEP / Math.log(to / from), n: h.n.slice(i, i + join).reduce((sum, n) => sum + n, 0),
			of: (model) => later(model, first) - later(model, end)});
	}
	const short = bins.filter((b) => b.to <= SHORTEST).reduce((sum, b) => sum + b.n, 0);
	const least = 0.4 / total, shown = bins.filter((b) => b.to > SHORTEST);
	const range = (b) => `${digits(b.from)} to ${digits(b.to)} intervals`;
	const series = [{name: 'recorded', bars: true, points: shown.map((b) => ({x: b.from, to: b.to, y: (b.n / total) * b.as,
		text: `${range(b)}: ${number(b.n)} of ${number(total)}`, cells: [range(b), number(b.n), number(b.n / total)]}))}];

	for (const [name, model] of Object.entries(h.models))
		series.push({name, colour: colour(name), width: 2.2, dash: modelDash(name),
			points: shown.map((b) => ({x: Math.sqrt(b.from * b.to), y: Math.max(b.of(model) * b.as, least / 100),
				text: `${range(b)}: expects ${number(b.of(model) * total)} of ${number(total)}`, cells: [range(b), number(b.of(model) * total), number(b.of(model))]}))});
	chart('histogram', {
		title: 'Intervals between beats, recorded and expected' + whose(h), series, tall: 420,
		hint: 'Point at the figure, or use the arrow keys, to read how many intervals were so long.' +
			(short ? ` ${number(short)} shorter than a tenth are not shown.` : ''),
		x: {log: true, min: Math.min(shown[0].from, 0.8), max: Math.max(shown[shown.length - 1].to, 2), label: 'interval, in multiples of the peer’s own', format: times, room: 48},
		y: {log: true, min: least, max: 1, label: 'share of all intervals, in steps of 2 %', format: power},
		heads: ['series', 'interval', 'intervals', 'share'],
	});
}

/* --- the tail: quantiles */

/* How long the longest one in 1 / p is by a model: between two edges, phi is as good as straight. */
function quantile(model, p) {
	const phi = -Math.log10(p), i = model.phi.findIndex((x) => x >= phi);

	if (i <= 0)
		return edge(model.first + (i ? model.phi.length - 1 : 0));
	const low = edge(model.first + i - 1), high = edge(model.first + i), a = model.phi[i - 1], b = model.phi[i];

	return low + (high - low) * (phi - a) / (b - a);
}

/* A mark for each bin from the median on that has intervals: its middle, and how many are longer, those of its own by half on a
   scale of decades. Of the very longest one nobody knows how rare it is; as likely as not, rarer than 0.7 in all. */
function recordedQuantiles(h) {
	const total = h.n.reduce((sum, n) => sum + n, 0), found = [];
	let longer = total;

	h.n.forEach((n, i) => {
		const from = edge(h.first + i), to = edge(h.first + i + 1);

		if (n && to > SHORTEST)
			found.push({t: Math.sqrt(from * to), p: Math.sqrt(longer * Math.max(longer - n, 0.5)) / total});
		longer -= n;
	});
	const tail = found.findIndex((q) => q.p <= 0.5);

	return found.slice(Math.max(tail - 1, 0)); /* nobody is suspected for beating early */
}

/* Where the recorded quantiles reach a decade: one in 10, one in 100 ... */
function decades(recorded) {
	const found = [];

	recorded.forEach((b, i) => {
		const a = recorded[i - 1];

		for (let e = 1; a && e < 20; e++) {
			const p = 10 ** -e, share = Math.log(a.p / p) / Math.log(a.p / b.p);

			if (a.p > p && b.p <= p)
				found.push({y: a.t * (b.t / a.t) ** share, text: e < 4 ? `1 in ${10 ** e}` : `1 in 10${superscript(e)}`});
		}
	});
	return found;
}

function quantiles(h) {
	const recorded = recordedQuantiles(h), ts = recorded.map((q) => q.t), total = h.n.reduce((sum, n) => sum + n, 0);
	const shortest = Math.min(...ts), longest = Math.max(1.5 * shortest, ...ts), log = longest / shortest > 30;
	const rarity = (p) => `one in ${number(1 / p)}`;
	const series = Object.entries(h.models).map(([name, model]) => ({
		name, colour: colour(name), width: 1.2, dash: modelDash(name), shape: models.findIndex((r) => r.name === name) % shapes.length, apart: 11, steep: true,
		points: recorded.map((q) => {
			const x = quantile(model, q.p);

			return {x, y: q.t, text: `${rarity(q.p)} is longer than ${times(q.t)} its interval; the model expects ${times(x)}`,
				cells: [rarity(q.p), times(q.t), times(x), times(q.t / x)]};
		}),
	}));
	const expected = series.flatMap((s) => s.points.map((p) => p.x));
	const min = log ? shortest / 1.2 : Math.max(0, shortest - 0.05 * (longest - shortest));
	const span = (to) => (log ? to * 1.3 : to + 0.06 * (to - min));
	const farthest = Math.min(Math.max(longest, ...expected), log ? longest * 4 : min + 2 * (longest - min));

	chart('quantiles', {
		title: 'Quantiles of the intervals against those of each model' + whose(h), series, tall: 480, low: 320, left: 62,
		hint: `${number(total)} intervals. Point at a mark, or use the arrow keys, to read how rare it is and what the model expects. What a model expects far beyond the figure is in the table.`,
		x: {log, min, max: span(farthest), label: 'expected by the model', format: times, room: 56},
		y: {log, min, max: span(longest), label: 'recorded, in multiples of the peer’s own interval', format: times},
		lines: [[{x: min, y: min}, {x: 2 * farthest, y: 2 * farthest}]], right: decades(recorded),
		heads: ['model', 'so rare', 'recorded', 'expected', 'recorded / expected'],
	});
}

/* Both figures show the same peer; which, is chosen at either. */
function intervals() {
	const picks = [...document.querySelectorAll('.pick')];

	function show(i) {
		for (const pick of picks)
			pick.querySelector('select').value = String(i);
		histogram(data.histograms[i]);
		quantiles(data.histograms[i]);
	}

	for (const pick of picks) {
		const select = pick.querySelector('select'), alone = data.histograms.length - 1;

		data.histograms.forEach((h, i) => add(select, 'option', {value: i}, h.peer === null ? `all ${data.heard} together` : h.peer));
		if (alone < data.heard)
			add(select, 'option', {disabled: ''}, `the ${alone} with the longest silences are listed`);
		select.addEventListener('change', () => show(Number(select.value)));
		pick.hidden = alone < 2;
	}
	show(0);
}

/* --- reliability */

function reliability() {
	const MOST = 8, series = [];

	for (const r of models)
		for (const c of new Set([r.curves[0], r.curves[r.best]])) {
			const own = c === r.curves[0], alone = r.curves[r.best] === r.curves[0];
			const points = c.points.filter((p) => Number(p.at) <= MOST).map((p) => ({
				x: Number(p.at), y: p.mistakes / data.intervals, mistakes: p.mistakes,
				text: `phi ${digits(Number(p.at))} was exceeded in ${number(p.mistakes)} of ${number(data.intervals)} intervals; it says ` +
					`${number(data.intervals * 10 ** -Number(p.at))} (${settings(c)})`,
				cells: [digits(Number(p.at)), number(p.mistakes), number(data.intervals * 10 ** -Number(p.at)), settings(c)],
			}));

			series.push({name: r.name + (alone ? '' : own ? ', as recorded' : ', as tuned'), colour: colour(r.name), width: own && !alone ? 1.6 : 2.6, dash: own && !alone ? '5 4' : null,
				shape: models.indexOf(r) % shapes.length, apart: 10, points: upToNone(points)});
		}
	const low = 1 / data.intervals;

	byId('reliability-caveat').textContent = `${number(data.intervals)} intervals can say something up to about phi ${digits(Math.max(0, Math.log10(data.intervals) - 1))}, and nothing beyond.`;
	chart('reliability', {
		title: 'How often silence exceeded phi, against what phi says', series, none: true, tall: 440,
		hint: 'Point at a mark, or use the arrow keys, to read how often its phi was exceeded.',
		x: {min: 0, max: MOST, step: 1, label: 'phi', format: String},
		y: {log: true, min: low / 2, max: 1, label: 'share of intervals in which silence exceeded it', format: power},
		lines: [[{x: 0, y: 1}, {x: MOST, y: 10 ** -MOST}]], heads: ['model', 'phi', 'exceeded', 'expected', 'settings'],
	});
}

/* --- stalls */

function clock(ns) {
	return data.began ? new Date(data.began + ns / 1e6).toISOString().slice(0, 19).replace('T', ' ') + ' UTC' : time(ns) + ' after the beginning';
}

function stalls() {
	const slots = data.slots.map((s, i) => ({x: i * data.slot, to: (i + 1) * data.slot, y: s.longest, stalled: s.stalled, arrivals: s.arrivals}));
	const longest = Math.max(data.longestStall, 1e6);
	const x = {min: 0, max: data.slots.length * data.slot, label: data.began ? 'since ' + clock(0) : 'since the beginning', format: time, room: 76};

	byId('stalls-caveat').textContent = data.stalls
		? `${number(data.stalls)} were recorded, ${time(data.stalled)} together and ${time(data.longestStall)} at most; only CPUs that take beats are watched.`
		: 'None was recorded; a trace that was converted from a capture or a list knows of none.';
	if (!data.stalls)
		return;
	x.step = niceTime(x.max);
	chart('stalls', {
		title: 'Stalls over time', tall: 220, low: 180, left: 62,
		hint: `Each bar is ${time(data.slot)}: the longest stall in it.`,
		series: [{name: 'longest stall', bars: true, colour: 'var(--c1)', points: slots.map((s) => ({...s,
			text: `${clock(s.x)}: ${s.stalled ? time(s.stalled) + ' stalled, ' + time(s.y) + ' at most' : 'no stall'}; ${number(s.arrivals)} arrivals`,
			cells: [clock(s.x), time(s.stalled), time(s.y), number(s.arrivals)]}))}],
		x, y: {min: 0, max: longest * 1.1, label: 'longest stall', format: time},
		heads: ['', 'from', 'stalled', 'longest', 'arrivals'],
	});
}

/* A step of the time axis that a clock would take. */
function niceTime(span) {
	const steps = [1e6, 1e7, 1e8, 1e9, 2e9, 5e9, 10e9, 30e9, 60e9, 120e9, 300e9, 600e9, 1800e9, 3600e9, 7200e9, 4 * 3600e9, 12 * 3600e9, DAY, 2 * DAY, 7 * DAY, 30 * DAY];

	return steps.find((s) => span / s <= 7) || span / 5;
}

/* --- words */

function facts() {
	const list = byId('facts'), about = [['peers', number(data.heard)], ['arrivals', number(data.arrivals)], ['span', time(data.span)],
		['peer-days', number(peerDays)], ['lost by the recorder', number(data.lost)], ['stalls', number(data.stalls)],
		['crashes injected', number(data.crashes)]];

	for (const [name, value] of about) {
		const div = add(list, 'div');

		add(div, 'dt', {}, name);
		add(div, 'dd', {}, value);
	}
	byId('lead').textContent = `What every detector would have done with the arrivals of ${data.file}` + (data.peer ? `, peer ${data.peer} alone` : '') +
		(data.began ? `, recorded from ${clock(0)}` : '') + (data.torn ? `; its torn end of ${number(data.torn)} bytes is left out` : '') + '.';
}

function choices() {
	const rows = data.targets.map((t) => [t.name,
		[Number(t.maxFalse) ? `at most ${number(Number(t.maxFalse))} false a peer and day` : '', t.maxDetect ? `detect within ${time(t.maxDetect)}` : ''].filter(Boolean).join(', ') || 'the knee',
		t.met ? digits(Number(t.at)) : 'not met', t.met ? rate(t.mistakes) : '', t.met ? `below ${number(Number(t.atMost))}` : '', t.met ? time(t.p50) : '', t.met ? time(t.max) : '']);

	fill(add(byId('choices'), 'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Chosen settings'}),
		`Model ${data.chosenModel}, ${settings(data.chosenSettings)}`, ['consumer', 'asks for', 'suspect at phi', 'false suspicions', 'with 95 % confidence', 'detects in', 'at most'], rows);
	byId('yaml').textContent = data.yaml || 'No setting meets what any consumer asks for.';
	byId('copy').addEventListener('click', async () => {
		const selection = getSelection();

		selection.selectAllChildren(byId('yaml'));
		if (navigator.clipboard)
			await navigator.clipboard.writeText(data.yaml).catch(() => document.execCommand('copy'));
		else
			document.execCommand('copy');
		byId('copy').textContent = 'Copied';
	});
}

function peers() {
	fill(add(byId('peers'), 'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Peers'}),
		data.heard > data.peers.length ? `The first ${data.peers.length} of ${data.heard}` : 'All that were heard',
		['peer', 'beats', 'lost', 'interval', 'mean', 'deviation of the last window', 'longest'],
		data.peers.map((p) => [p.name, number(p.beats), number(p.lost), time(p.interval), time(p.mean), time(p.stddev), time(p.largest)]));
}

facts();
choices();
tradeoff();
intervals();
reliability();
stalls();
peers();
document.documentElement.dataset.drawn = 'yes';
})();
