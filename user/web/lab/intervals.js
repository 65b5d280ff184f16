// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- intervals to look at: built-in ones, or a live peer's, and what is done to them. All chance comes from a seed, so
   the same address shows the same bars to everybody. */

const MS = 1e6;
const LENGTH = 400;

/* Small, quick and repeatable everywhere (mulberry32's recurrence); good enough for bars. */
function dice(seed) {
	let state = seed >>> 0;

	const next = () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);

		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};

	return {
		next,
		normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
		exponential: () => -Math.log(1 - next()),
	};
}

/* What each built-in sender does: interval, a function of its dice to the next interval, loss in percent and burst. */
const BUILT_IN = {
	steady: {title: 'steady, 100 ms', interval_ns: 100 * MS, next: (d) => 100 * MS + d.normal() * 0.4 * MS},
	jittery: {title: 'jittery, 100 ms', interval_ns: 100 * MS, next: (d) => 100 * MS + d.normal() * 22 * MS},
	lossy: {
		title: 'lossy, 100 ms',
		interval_ns: 100 * MS,
		next: (d) => 100 * MS + d.normal() * 2 * MS,
		loss: 6,
		burst: 1.5,
	},
	gc: {
		title: 'garbage collector, 100 ms',
		interval_ns: 100 * MS,
		next: (d) => 100 * MS + d.normal() * 2 * MS + (d.next() < 0.03 ? (250 + 60 * d.normal()) * MS : 0),
	},
	/* RFC 5880, 6.8.7: each interval is shortened by up to a quarter. */
	bfd: {
		title: 'BFD, 50 ms',
		interval_ns: 50 * MS,
		next: (d) => 50 * MS * (1 - 0.25 * d.next()) + d.exponential() * 0.05 * MS,
	},
};

const atLeast = (ns) => Math.max(1000, Math.round(ns));

function builtIn(name, seed) {
	const b = BUILT_IN[name],
		d = dice(seed);
	const made = {
		intervals_ns: Array.from({length: LENGTH}, () => atLeast(b.next(d))),
		steps: new Array(LENGTH).fill(1),
		window: 200,
		settings: {interval_ns: b.interval_ns},
	};

	return b.loss ? {...made, ...lose(made, b.loss, b.burst, d)} : made;
}

/* A peer's ring and the settings that it is judged by. */
function ofPeer(w) {
	const pick = ({interval_ns, min_std_ns, pause_ns, max_interval_ns}) => ({
		interval_ns,
		min_std_ns,
		pause_ns,
		max_interval_ns,
	});

	return {
		intervals_ns: w.intervals_ns,
		steps: w.steps.map((n) => Math.max(1, n)),
		window: Math.min(4096, Math.max(8, w.intervals_ns.length)),
		settings: pick(w),
		model: w.model,
	};
}

/* Beats are lost in runs: an interval then spans all that is missing. `percent` of all, runs of `burst` on average. */
function lose({intervals_ns, steps}, percent, burst, d) {
	const share = percent / 100,
		begin = share / (burst * (1 - share)),
		go = 1 - 1 / burst,
		out = {intervals_ns: [], steps: []};
	let waited = 0,
		spanned = 0,
		losing = false;

	intervals_ns.forEach((ns, i) => {
		waited += ns;
		spanned += steps[i];
		losing = d.next() < (losing ? go : begin);
		if (losing && i < intervals_ns.length - 1) return;
		out.intervals_ns.push(waited);
		out.steps.push(spanned);
		waited = spanned = 0;
	});
	return out;
}

/* Each arrival is late by a chance of its own; the sender's clock goes on, so lateness is no drift. */
function shake(intervals_ns, percent, mean_ns, d) {
	let before = 0;

	return intervals_ns.map((ns) => {
		const late = Math.abs(d.normal()) * (percent / 100) * mean_ns,
			shaken = atLeast(ns + late - before);

		before = late;
		return shaken;
	});
}

const meanOf = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
const medianOf = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/* The sequence that all detectors see, and where the injected pause is in it (or null). */
function sequenceOf(base, what) {
	const d = dice(what.seed + 1),
		mean_ns = meanOf(base.intervals_ns);
	let made = {intervals_ns: base.intervals_ns, steps: base.steps},
		pauseAt = null;

	if (what.jitter) made = {...made, intervals_ns: shake(made.intervals_ns, what.jitter, mean_ns, d)};
	if (what.loss) made = lose(made, what.loss, what.burst, d);
	if (what.pause) {
		pauseAt = Math.max(0, Math.min(made.intervals_ns.length - 1, what.at));
		made = {
			intervals_ns: made.intervals_ns.with(pauseAt, Math.round(mean_ns * what.pause)),
			steps: made.steps.with(pauseAt, 1),
		};
	}
	return {...made, pauseAt, mean_ns, median_ns: medianOf(made.intervals_ns)};
}
