// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
'use strict';

function show(rows) {
	const table = document.getElementById('rows');

	table.replaceChildren();
	for (const cells of rows) {
		const row = table.insertRow();

		for (const text of cells)
			row.insertCell().textContent = text ?? '';
	}
}

const ask = async (path, request) => (await fetch(path, request)).json();
