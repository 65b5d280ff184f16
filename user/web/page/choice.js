// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* One of a row of buttons is pressed: onChoice(value) when it is another. */
function choice(group, onChoice) {
	const buttons = [...group.querySelectorAll('button')];

	function choose(value) {
		for (const b of buttons) b.setAttribute('aria-pressed', String(b.value === String(value)));
	}
	for (const b of buttons)
		b.addEventListener('click', () => {
			choose(b.value);
			onChoice(b.value);
		});
	return choose;
}
