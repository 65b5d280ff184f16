// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what people read */

const digits = (x) => String(Number(x.toPrecision(3)));
const count = (n, one, many = one + 's') => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

function time(ns) {
	if (!ns)
		return '0 s';
	for (const [unit, length, least] of [['d', 86400e9, 2], ['h', 3600e9, 2], ['min', 60e9, 2], ['s', 1e9, 1], ['ms', 1e6, 1], ['µs', 1e3, 1]])
		if (ns >= length * least)
			return digits(ns / length) + ' ' + unit;
	return digits(ns) + ' ns';
}

/* Time of day where the reader is; `ms` since 1970. */
const clock = (ms) => new Date(ms).toTimeString().slice(0, 8);

/* The same with the day and how far that is from UTC, for whoever compares it with a log. */
function clockFully(ms) {
	const d = new Date(ms), minutes = -d.getTimezoneOffset(), two = (n) => String(n).padStart(2, '0');
	const offset = (minutes < 0 ? '-' : '+') + two(Math.floor(Math.abs(minutes) / 60)) + ':' + two(Math.abs(minutes) % 60);

	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(ms)} ${offset}`;
}

/* Beyond a thousand, phi says no more than that it is over. */
const phiText = (phi) => (phi === null || phi === undefined ? '–' : phi >= 1000 ? '> 999' : phi >= 100 ? String(Math.round(phi)) : phi.toFixed(phi < 10 ? 2 : 1));

/* A wish for order of people: web2 comes before web10. */
const byName = new Intl.Collator('en', {numeric: true}).compare;
