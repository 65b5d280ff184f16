// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- keys that work wherever the focus is, but while somebody writes */

function listenToKeys(actions) {
	addEventListener('keydown', (event) => {
		const writing = event.target.matches('input, select, textarea');

		if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
		if (event.key === 'Escape' && writing) event.target.blur();
		if (writing && event.key !== 'Escape') return;
		const action = actions[event.key];

		if (!action) return;
		event.preventDefault();
		action();
	});
}
