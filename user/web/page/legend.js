// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the legend, which also counts, and which filters by state when pressed */

const legend = (() => {
	const TICKS = [0, 1, 3, SUSPECT_PHI, 16, 29.875],
		WIDE = 320,
		TALL = 14;
	let scale, buttons;

	function paintScale() {
		const context = scale.getContext('2d'),
			dark = theme.isDark();

		for (let x = 0; x < WIDE; x++) {
			context.fillStyle = `rgb(${phiColour(Math.expm1((x / WIDE) * Math.log1p(30)), dark)})`;
			context.fillRect(x, 0, 1, TALL);
		}
	}

	function paint() {
		const dark = theme.isDark();

		paintScale();
		for (const b of buttons)
			swatch(b.canvas, {up: PHI_FIRST, suspect: PHI_FIRST + 10 * 8}[b.state.name] || b.state.cell, dark);
	}

	function begin(onChange) {
		const figure = byId('scale'),
			ticks = document.createElement('div');

		scale = document.createElement('canvas');
		mark(scale, 'role', 'img');
		mark(
			scale,
			'aria-label',
			'Scale of phi from 0 to 30 and more; lightness goes one way all along, and 8 is where suspicion begins',
		);
		[scale.width, scale.height] = [WIDE, TALL];
		ticks.className = 'ticks';
		for (const phi of TICKS) {
			const tick = add(ticks, 'span', {}, phi > 29 ? '30' : phi === SUSPECT_PHI ? '8 suspect' : String(phi));

			tick.style.left = Math.min(100, scalePosition(phi) * 100) + '%';
		}
		figure.prepend(scale, ticks);
		buttons = STATES.map((state) => {
			const button = add(byId('states'), 'button', {
				type: 'button',
				'aria-pressed': 'false',
				title: state.about,
				value: state.name,
			});
			const canvas = add(button, 'canvas', {width: 24, height: 16, 'aria-hidden': 'true'});

			add(button, 'span', {}, state.name);
			button.addEventListener('click', () => {
				if (!view.states.delete(state.name)) view.states.add(state.name);
				mark(button, 'aria-pressed', String(view.states.has(state.name)));
				onChange();
			});
			return {state, canvas, button, number: add(button, 'b', {}, '0')};
		});
		theme.onChange(paint);
		paint();
	}

	function count(counts) {
		for (const b of buttons) {
			say(b.number, String(counts.get(b.state.name) || 0));
			mark(b.button, 'data-none', counts.get(b.state.name) ? null : 'yes');
		}
	}

	return {begin, count};
})();
