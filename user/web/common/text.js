// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what people read */

const digits = (x) => String(Number(x.toPrecision(3)));
const count = (n, one, many = one + 's') => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

function time(ns) {
	if (!ns) return '0 s';
	for (const [unit, length, least] of [
		['d', 86400e9, 2],
		['h', 3600e9, 2],
		['min', 60e9, 2],
		['s', 1e9, 1],
		['ms', 1e6, 1],
		['µs', 1e3, 1],
	])
		if (ns >= length * least) return digits(ns / length) + ' ' + unit;
	return digits(ns) + ' ns';
}

/* Beyond a thousand, phi says no more than that it is over. */
const phiText = (phi) =>
	phi === null || phi === undefined
		? '–'
		: phi >= 1000
			? '> 999'
			: phi >= 100
				? String(Math.round(phi))
				: phi.toFixed(phi < 10 ? 2 : 1);
