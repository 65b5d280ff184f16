// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the past: one byte for each peer and second of the last hour, in a ring that never grows beyond that */

const COLUMNS = 3600;
const SHORT = 1,
	LONG = 2; /* stalls of this host */

function bytesOf(base64) {
	const text = atob(base64),
		bytes = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
	return bytes;
}

const past = (() => {
	let peers = [],
		places = new Map(),
		ring = new Uint8Array(0),
		newest = -1,
		lastLoud = [];
	const LONG_NS = 500e6; /* so long a stall shows in every row; a shorter one in this host's own */
	const stalled = new Uint8Array(COLUMNS); /* of each second: 0, SHORT or LONG, if this host did not run in it */

	/* A name may be given away, and a slot, too: only both and the generation are one peer. */
	const key = (p) => p.generation + ' ' + p.slot + ' ' + p.name;

	/* Another set of peers: who was there keeps his hour. */
	function roster(next) {
		const before = places,
			width = peers.length,
			old = ring,
			loud = lastLoud;

		peers = next;
		lastLoud = next.map((p) => loud[before.get(key(p))] ?? -COLUMNS);
		places = new Map(next.map((p, i) => [key(p), i]));
		ring = new Uint8Array(COLUMNS * next.length);
		next.forEach((p, to) => {
			const from = before.get(key(p));

			for (let c = 0; from !== undefined && c < COLUMNS; c++)
				ring[c * next.length + to] = old[c * width + from];
		});
	}

	/* Makes room up to this second; what nobody looked at stays unknown. False if it is older than all that is kept. */
	function reach(column) {
		if (newest < 0) newest = column;
		for (let steps = Math.min(column - newest, COLUMNS), c = column - steps + 1; c <= column; c++) {
			ring.fill(0, (c % COLUMNS) * peers.length, ((c % COLUMNS) + 1) * peers.length);
			stalled[c % COLUMNS] = 0;
		}
		newest = Math.max(newest, column);
		return column > newest - COLUMNS;
	}

	function raise(column, peer, cell) {
		const at = (column % COLUMNS) * peers.length + peer;

		if (RANK[cell] <= RANK[ring[at]]) return;
		ring[at] = cell;
		if (isLoud(cell) && column > lastLoud[peer]) lastLoud[peer] = column;
	}

	/* The present second: a cell a peer. */
	function frame(column, cells) {
		if (reach(column)) for (let i = 0; i < peers.length; i++) raise(column, i, cells[i]);
	}

	/* What the server remembers, for the seconds before we came. */
	function history(h) {
		const last = Math.floor(h.end_ns / h.step_ns);

		reach(last);
		for (const p of h.peers) {
			const place = places.get(key(p)),
				cells = bytesOf(p.cells);

			for (let i = 0; place !== undefined && i < cells.length; i++) {
				const column = last - cells.length + 1 + i;

				if (column >= 0 && column > newest - COLUMNS) raise(column, place, cells[i]);
			}
		}
	}

	/* This host did not run from one moment to another, CLOCK_MONOTONIC; its news may come before the next frame.
	   Returns the first second of it. */
	function stall(from_ns, to_ns) {
		const kind = to_ns - from_ns >= LONG_NS ? LONG : SHORT;
		const last = Math.floor(to_ns / 1e9),
			first = Math.max(Math.floor(from_ns / 1e9), last - COLUMNS + 1, 0);

		reach(last);
		for (let c = first; c <= last; c++) stalled[c % COLUMNS] = Math.max(stalled[c % COLUMNS], kind);
		return first;
	}

	/* The cell of a peer in a second; UNKNOWN outside of what is kept. */
	function cell(column, peer) {
		return column > newest || column <= newest - COLUMNS || column < 0
			? UNKNOWN
			: ring[(column % COLUMNS) * peers.length + peer];
	}

	/* The worst cell of all peers between two seconds, into `worst`, which has one for each. Returns 0,
	   SHORT or LONG, as this host slept. */
	function worstOf(first, last, worst) {
		const n = peers.length;
		let slept = 0;

		worst.fill(0, 0, n);
		for (let c = Math.max(first, newest - COLUMNS + 1, 0); c <= last && c <= newest; c++) {
			const from = (c % COLUMNS) * n;

			slept = Math.max(slept, stalled[c % COLUMNS]);
			for (let i = 0; i < n; i++) if (RANK[ring[from + i]] > RANK[worst[i]]) worst[i] = ring[from + i];
		}
		return slept;
	}

	function forget() {
		ring.fill(0);
		stalled.fill(0);
		lastLoud.fill(-COLUMNS);
		newest = -1;
	}

	return {
		roster,
		forget,
		frame,
		history,
		stall,
		cell,
		worstOf,
		wasStalled: (column) => column <= newest && column > newest - COLUMNS && stalled[column % COLUMNS] !== 0,
		peers: () => peers,
		newest: () => newest,
		lastLoud: (peer) => lastLoud[peer] /* the last second in which it was suspect or worse */,
		present: (peer) => cell(newest, peer),
	};
})();
