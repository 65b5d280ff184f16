// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

async function refresh() {
	const peers = await ask('/api/v1/peers');

	show(peers.error ? [[peers.error]] : peers.map((p) => [p.name, p.state, p.phi, p.model, p.reason]));
}

refresh();
setInterval(refresh, 1000);
