// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the figure: bars, the timeout, each model's patience, and a lane for each detector with its detections on the
   same bars */

const plot = (() => {
	const LEFT = 80,
		RIGHT = 14,
		TOP = 10,
		TALL = 360,
		LANE = 20,
		AXIS = 20,
		GRAB = 12;
	const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
	const colours = {};
	let box,
		canvas,
		context,
		shown = null,
		g = null,
		pointed = null;

	function palette() {
		for (const name of [
			'paper',
			'ink',
			'soft',
			'rule',
			'grid',
			'panel',
			'accent',
			'c0',
			'c1',
			'c2',
			'c3',
			'c4',
		])
			colours['--' + name] = theme.colour('--' + name);
	}

	/* From the least to the most that has to be seen; by powers of ten unless the reader wants it otherwise. */
	function measure() {
		const {sequence, said, linear, lanes} = shown,
			dpr = Math.min(devicePixelRatio || 1, 2),
			wide = box.clientWidth;
		const reach = said.models
			.filter((m) => !shown.hidden.includes(m.model))
			.flatMap((m) => m.reach_ns.slice(-1));
		const most =
			1.25 *
			Math.max(
				...sequence.intervals_ns,
				said.fixed.timeout_ns,
				...reach.map((ns) => Math.min(ns || 0, 40 * sequence.median_ns)),
			);
		const least = linear ? 0 : 0.45 * sequence.median_ns,
			scaled = linear ? (x) => x : Math.log10,
			low = linear ? 0 : scaled(least),
			high = scaled(most);

		g = {
			dpr,
			wide,
			tall: TOP + TALL + 6 + lanes.length * LANE + AXIS,
			bottom: TOP + TALL,
			most,
			least,
			y: (ns) => TOP + TALL - (TALL * (scaled(Math.max(ns, least || 1)) - low)) / (high - low),
			ns: (y) => (linear ? (v) => v : (v) => 10 ** v)(low + ((TOP + TALL - y) / TALL) * (high - low)),
			step: (wide - LEFT - RIGHT) / sequence.intervals_ns.length,
		};
		canvas.width = Math.round(wide * dpr);
		canvas.height = Math.round(g.tall * dpr);
		canvas.style.width = wide + 'px';
		canvas.style.height = box.style.height = g.tall + 'px';
		context.setTransform(dpr, 0, 0, dpr, 0, 0);
	}

	const xOf = (i) => LEFT + i * g.step;

	/* 1, 2, 3 and 5 of each power of ten; or even steps. */
	function ticks() {
		const found = [];

		if (shown.linear) {
			const rough = g.most / 7,
				unit = 10 ** Math.floor(Math.log10(rough));
			const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough);

			for (let ns = 0; ns <= g.most; ns += step) found.push(ns);
			return found;
		}
		for (let unit = 10 ** Math.floor(Math.log10(g.least)); unit <= g.most; unit *= 10)
			found.push(...[1, 2, 3, 5].map((m) => m * unit));
		return found.filter((ns) => ns >= g.least && ns <= g.most);
	}

	function axes() {
		context.font = FONT;
		context.textBaseline = 'middle';
		for (const ns of ticks()) {
			const y = Math.round(g.y(ns)) + 0.5;

			context.fillStyle = colours['--grid'];
			context.fillRect(LEFT, y, g.wide - LEFT - RIGHT, 1);
			context.fillStyle = colours['--soft'];
			context.textAlign = 'right';
			context.fillText(time(ns), LEFT - 6, y);
		}
	}

	/* A beat that was lost makes its bar hollow above one step's worth, because that silence was the path's. */
	function bars() {
		const {intervals_ns, steps, pauseAt} = shown.sequence,
			wide = Math.max(1, g.step > 3 ? g.step - 1 : g.step);

		if (pauseAt !== null) {
			context.fillStyle = colours['--c4'];
			context.globalAlpha = 0.25;
			context.fillRect(xOf(pauseAt) - 3, TOP, wide + 6, g.tall - TOP - AXIS);
			context.globalAlpha = 1;
		}
		intervals_ns.forEach((ns, i) => {
			const top = g.y(ns);

			context.fillStyle = i === pauseAt ? colours['--c4'] : colours['--soft'];
			context.globalAlpha = steps[i] > 1 ? 0.4 : i === pauseAt ? 1 : 0.62;
			context.fillRect(xOf(i), top, wide, g.bottom - top);
			if (steps[i] > 1) {
				const each = g.y(ns / steps[i]);

				context.globalAlpha = 0.62;
				context.fillRect(xOf(i), each, wide, g.bottom - each);
			}
		});
		context.globalAlpha = 1;
	}

	function reachLine(m) {
		context.strokeStyle = colours[modelColour(m.model)];
		context.lineWidth = 2;
		context.setLineDash([[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4]][MODELS.indexOf(m.model)] || []);
		context.beginPath();
		let pen = false;

		m.reach_ns.forEach((ns, i) => {
			if (ns === null) {
				pen = false;
				return;
			}
			const y = Math.max(TOP - 4, g.y(ns));

			context[pen ? 'lineTo' : 'moveTo'](xOf(i), y);
			context.lineTo(xOf(i + 1), y);
			pen = true;
		});
		context.stroke();
		context.setLineDash([]);
	}

	function timeoutLine() {
		const y = g.y(shown.said.fixed.timeout_ns),
			text = 'timeout ' + time(shown.said.fixed.timeout_ns);

		context.strokeStyle = colours['--ink'];
		context.lineWidth = 2;
		context.setLineDash([10, 5]);
		context.beginPath();
		context.moveTo(LEFT, y);
		context.lineTo(g.wide - RIGHT, y);
		context.stroke();
		context.setLineDash([]);
		context.font = '600 ' + FONT;
		context.textAlign = 'left';
		const room = context.measureText(text).width;

		context.fillStyle = colours['--paper'];
		context.fillRect(LEFT + 4, y - 19, room + 8, 16);
		context.fillStyle = colours['--ink'];
		context.fillText(text, LEFT + 8, y - 11);
	}

	function lanes() {
		const {pauseAt} = shown.sequence;

		shown.lanes.forEach((lane, k) => {
			const y = g.bottom + 6 + k * LANE,
				middle = y + LANE / 2;

			context.fillStyle = colours['--grid'];
			context.fillRect(LEFT, y + LANE - 1, g.wide - LEFT - RIGHT, 1);
			context.font = FONT;
			context.textAlign = 'right';
			context.fillStyle = lane.name === 'fixed' ? colours['--ink'] : colours[modelColour(lane.name)];
			context.fillText(lane.name, LEFT - 6, middle, LEFT - 8);
			for (const i of lane.detections) {
				const x = xOf(i) + g.step / 2;

				/* A cross for a mistake, a disc for the pause. */
				context.beginPath();
				if (i === pauseAt) context.arc(x, middle, 5.5, 0, 7);
				else context.rect(x - Math.max(1, g.step / 2), y + 4, Math.max(2, g.step), LANE - 9);
				context.fill();
			}
		});
	}

	function xAxis() {
		const n = shown.sequence.intervals_ns.length,
			step = [10, 20, 50, 100, 200, 500, 1000].find((s) => s * g.step >= 56) || 1000;

		context.font = FONT;
		context.textAlign = 'center';
		context.fillStyle = colours['--soft'];
		for (let i = 0; i < n; i += step) context.fillText(i ? String(i) : 'beat', xOf(i), g.tall - 8);
	}

	function highlight() {
		if (pointed === null) return;
		context.strokeStyle = colours['--ink'];
		context.lineWidth = 1;
		context.strokeRect(xOf(pointed) - 1.5, TOP, Math.max(g.step, 2) + 2, g.tall - TOP - AXIS);
	}

	function draw() {
		if (!shown || !box.clientWidth) return;
		measure();
		context.clearRect(0, 0, g.wide, g.tall);
		axes();
		bars();
		context.save();
		context.beginPath();
		context.rect(LEFT, 0, g.wide - LEFT - RIGHT, g.bottom);
		context.clip();
		shown.said.models.filter((m) => !shown.hidden.includes(m.model)).forEach(reachLine);
		context.restore();
		timeoutLine();
		lanes();
		xAxis();
		highlight();
	}

	function barAt(x) {
		const i = Math.floor((x - LEFT) / g.step);

		return i >= 0 && i < shown.sequence.intervals_ns.length ? i : null;
	}

	return {
		begin: (element) => {
			box = element;
			canvas = byId('bars');
			context = canvas.getContext('2d');
			theme.onChange(() => {
				palette();
				draw();
			});
			new ResizeObserver(() => requestAnimationFrame(draw)).observe(box);
		},
		/* {sequence, said, lanes, hidden, linear} */
		show: (what) => {
			shown = what;
			if (pointed !== null && pointed >= what.sequence.intervals_ns.length) pointed = null;
			draw();
		},
		point: (i) => {
			pointed = i;
			draw();
		},
		pointed: () => pointed,
		barAt,
		xOf,
		nsAt: (y) => g.ns(y),
		nearTimeout: (y) => Math.abs(y - g.y(shown.said.fixed.timeout_ns)) < GRAB,
		ready: () => g !== null,
	};
})();
