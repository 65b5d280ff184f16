// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what a hand does in the figure: points at a bar, drags the timeout, puts the pause somewhere; with keys, too */

/* on: {timeout(ns), pauseAt(i), words(i)} */
function handle(box, on) {
	const tip = byId('tip');
	let dragging = false;

	function tell(i) {
		plot.point(i);
		tip.hidden = i === null;
		if (i === null) return;
		tip.replaceChildren();
		on.words(i).forEach((line, k) => add(tip, k ? 'div' : 'b', {}, line));
		const x = plot.xOf(i);

		tip.style.top = '14px';
		tip.style.left = (x > box.clientWidth / 2 ? Math.max(0, x - tip.offsetWidth - 14) : x + 14) + 'px';
	}

	const place = (event) => {
		const r = box.getBoundingClientRect();

		return [event.clientX - r.left, event.clientY - r.top];
	};

	box.addEventListener('pointermove', (event) => {
		if (!plot.ready()) return;
		const [x, y] = place(event);

		box.style.cursor = dragging || plot.nearTimeout(y) ? 'ns-resize' : 'crosshair';
		if (dragging) on.timeout(plot.nsAt(y));
		else tell(plot.barAt(x));
	});
	box.addEventListener('pointerdown', (event) => {
		dragging = plot.ready() && plot.nearTimeout(place(event)[1]);
		if (!dragging) return;
		event.preventDefault();
		box.setPointerCapture(event.pointerId);
		tell(null);
	});
	box.addEventListener('pointerup', () => (dragging = false));
	box.addEventListener('pointercancel', () => (dragging = false));
	box.addEventListener('dblclick', (event) => {
		const i = plot.barAt(place(event)[0]);

		if (i !== null) on.pauseAt(i);
	});
	box.addEventListener('pointerleave', () => tell(null));
	box.addEventListener('keydown', (event) => {
		const along = {ArrowLeft: -1, ArrowRight: 1}[event.key],
			up = {ArrowUp: 1.05, ArrowDown: 1 / 1.05}[event.key],
			at = plot.pointed();

		if (event.ctrlKey || event.metaKey || event.altKey || !plot.ready()) return;
		if (along)
			tell(Math.max(0, at === null ? 0 : plot.xOf(at + along) < box.clientWidth - 14 ? at + along : at));
		else if (up) on.timeout(null, up);
		else if (event.key === 'Enter' && at !== null) on.pauseAt(at);
		else return;
		event.preventDefault();
		if (plot.pointed() !== null) say(byId('plot-said'), on.words(plot.pointed()).join(', '));
	});
}
