// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* The window of the first peer that has one, under every model: how long a silence each would grant now. */
async function judge() {
	for (const peer of await ask('/api/v1/peers')) {
		const w = await ask('/api/v1/window?peer=' + encodeURIComponent(peer.name));

		if (!w.samples)
			continue;
		const body = JSON.stringify({settings: {interval_ns: w.interval_ns}, intervals_ns: w.intervals_ns, steps: w.steps});
		const answer = await ask('/api/v1/phi', {method: 'POST', body});

		show(answer.models.map((m) => [peer.name, m.model, m.reach_ns.at(-1) / 1e6 + ' ms', m.detections.length + ' false']));
		return;
	}
}

judge();
