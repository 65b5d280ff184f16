// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- day and night: as the system has it, until the reader says otherwise. Canvases are told, because they cannot
   inherit. */

const theme = (() => {
	const ORDER = ['auto', 'light', 'dark'],
		night = matchMedia('(prefers-color-scheme: dark)'),
		told = [];
	let chosen = 'auto';

	try {
		chosen = localStorage.getItem('kphi-theme') || 'auto';
	} catch {
		/* a reader who stores nothing chooses each time */
	}

	function apply() {
		if (chosen === 'auto') delete document.documentElement.dataset.theme;
		else document.documentElement.dataset.theme = chosen;
		for (const b of document.querySelectorAll('button.theme')) {
			say(b, {auto: '◐ auto', light: '○ light', dark: '● dark'}[chosen]);
			b.setAttribute('aria-label', `Colours: ${chosen}. Press for another`);
		}
		told.forEach((f) => f());
	}

	function next() {
		chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
		try {
			localStorage.setItem('kphi-theme', chosen);
		} catch {
			/* as above */
		}
		apply();
	}

	night.addEventListener('change', apply);
	return {
		next,
		onChange: (f) => told.push(f),
		isDark: () => (chosen === 'auto' ? night.matches : chosen === 'dark'),
		colour: (name) => {
			/* light-dark() is resolved only where it is used. */
			const probe = add(document.body, 'i', {hidden: ''});

			probe.style.color = `var(${name})`;
			const value = getComputedStyle(probe).color;

			probe.remove();
			return value;
		},
		begin: () => {
			for (const b of document.querySelectorAll('button.theme')) b.addEventListener('click', next);
			apply();
		},
	};
})();
