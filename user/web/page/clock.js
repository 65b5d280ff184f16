// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* Time of day where the reader is; `ms` since 1970. */
const clock = (ms) => new Date(ms).toTimeString().slice(0, 8);

/* The same with the day and how far that is from UTC, for whoever compares it with a log. */
function clockFully(ms) {
	const d = new Date(ms),
		minutes = -d.getTimezoneOffset(),
		two = (n) => String(n).padStart(2, '0');
	const offset =
		(minutes < 0 ? '-' : '+') + two(Math.floor(Math.abs(minutes) / 60)) + ':' + two(Math.abs(minutes) % 60);

	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(ms)} ${offset}`;
}
