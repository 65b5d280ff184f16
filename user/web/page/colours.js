// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what a cell is and how it is drawn: docs/http.md has the bytes */

const UNKNOWN = 0,
	PHI_FIRST = 1,
	PHI_LAST = 240,
	NOT_JUDGED = 241,
	LEFT = 242,
	MUTED = 243,
	HELD = 244,
	BLIND = 245,
	DOWN = 246;
const SUSPECT_PHI = 8; /* what `kphi peer show` calls suspect; consumers have thresholds of their own */
const STALLED = 256; /* added to a cell of a second in which this host did not run */

const cellPhi = (cell) => (cell >= PHI_FIRST && cell <= PHI_LAST ? (cell - PHI_FIRST) / 8 : null);
const PHI_MOST = cellPhi(PHI_LAST);

/* The states, worst first: what they are called, and what a legend says of them. */
const STATES = [
	{name: 'down', cell: DOWN, about: 'its own watcher declared it dead'},
	{name: 'suspect', cell: null, about: 'phi has reached 8, or a consumer’s threshold'},
	{name: 'held', cell: HELD, about: 'would be suspect, but the evidence is against this host'},
	{name: 'blind', cell: BLIND, about: 'this host cannot hear it'},
	{name: 'up', cell: null, about: 'heard, phi below 8'},
	{name: 'not judged', cell: NOT_JUDGED, about: 'never heard, or its interval is not known yet'},
	{name: 'muted', cell: MUTED, about: 'verdicts on it are switched off'},
	{name: 'left', cell: LEFT, about: 'said goodbye'},
];

function cellState(cell) {
	const phi = cellPhi(cell);

	if (phi !== null) return phi >= SUSPECT_PHI ? 'suspect' : 'up';
	return (STATES.find((s) => s.cell === cell) || {name: 'unknown'}).name;
}

/* Of the cells that share a pixel the worst is shown: one dark second must not hide in a quiet hour. */
const RANK = (() => {
	const rank = new Uint8Array(256);

	[UNKNOWN, LEFT, MUTED, NOT_JUDGED].forEach((cell, i) => (rank[cell] = i));
	for (let cell = PHI_FIRST; cell <= PHI_LAST; cell++) rank[cell] = cell + 3;
	[BLIND, HELD, DOWN].forEach((cell, i) => (rank[cell] = PHI_LAST + 4 + i));
	return rank;
})();

/* Of whom something may be wrong, not of us. */
const isLoud = (cell) => cell === DOWN || cellPhi(cell) >= SUSPECT_PHI;

/* --- the scale: lightness rises (by night) or falls (by day) all the way, so that it can be read without seeing hues.
   phi 8 is two thirds along: what lies below is a matter of degree, what lies above is not. */

const scalePosition = (phi) => Math.log1p(phi) / Math.log1p(30);

const SCALES = {
	dark: [
		[0, '#1e2631'],
		[0.2, '#3b2f6e'],
		[0.4, '#86307f'],
		[0.62, '#dc4f52'],
		[0.8, '#fba238'],
		[1, '#fcfcc4'],
	],
	light: [
		[0, '#edf1f5'],
		[0.2, '#f7e3ac'],
		[0.4, '#f3b064'],
		[0.62, '#d5543c'],
		[0.8, '#8f1f62'],
		[1, '#26083f'],
	],
};

/* sRGB, in bytes, to Ottosson's OKLab and back: even steps in it are even steps to the eye. */
const linear = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const gamma = (c) =>
	Math.round(255 * Math.min(1, Math.max(0, c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055)));

function toLab([red, green, blue]) {
	const r = linear(red),
		g = linear(green),
		b = linear(blue);
	const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
	const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
	const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);

	return [
		0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
		1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
		0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
	];
}

function fromLab([L, A, B]) {
	const l = (L + 0.3963377774 * A + 0.2158037573 * B) ** 3,
		m = (L - 0.1055613458 * A - 0.0638541728 * B) ** 3;
	const s = (L - 0.0894841775 * A - 1.291485548 * B) ** 3;

	return [
		gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
		gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
		gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
	];
}

const fromHex = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

function phiColour(phi, dark) {
	const stops = SCALES[dark ? 'dark' : 'light'],
		at = Math.min(1, scalePosition(phi));
	const i = Math.max(
			1,
			stops.findIndex(([x]) => x >= at),
		),
		[x0, low] = stops[i - 1],
		[x1, high] = stops[i];
	const a = toLab(fromHex(low)),
		b = toLab(fromHex(high)),
		t = (at - x0) / (x1 - x0);

	return fromLab(a.map((v, k) => v + (b[k] - v) * t));
}

/* --- what is no phi has a hue of its own and a pattern, because neither alone is enough for everybody */

const PATTERNS = {
	[UNKNOWN]: {dark: ['#14181d', '#14181d'], light: ['#ffffff', '#ffffff'], on: () => false},
	[NOT_JUDGED]: {
		dark: ['#20262d', '#59636e'],
		light: ['#f3f5f7', '#a9b2bc'],
		on: (x, y) => !(x & 3) && !((y + (x >> 2)) & 1),
	},
	[LEFT]: {dark: ['#182521', '#2c6f5a'], light: ['#eef5f2', '#8cc5b1'], on: (x, y) => (y & 3) === 1},
	[MUTED]: {dark: ['#2a2e35', '#6d7681'], light: ['#e2e5e9', '#a7afb8'], on: (x) => (x & 3) < 2},
	[HELD]: {dark: ['#17405f', '#56b4e9'], light: ['#b5d9ef', '#0072b2'], on: (x, y) => ((x + y) & 7) < 4},
	[BLIND]: {
		dark: ['#3d4650', '#c3ccd6'],
		light: ['#cdd4dc', '#4b5560'],
		on: (x, y) => !((x + y) & 7) || !((x - y) & 7),
	},
	[DOWN]: {dark: ['#fcfcc4', '#dc4f52'], light: ['#26083f', '#d5543c'], on: (x) => (x & 7) < 2},
};
const STALL = {dark: [86, 180, 233], light: [0, 114, 178], on: (x, y) => !((x + y) & 7)};

/* A table from cell (and STALLED), y & 7, x & 7 to a pixel as an ImageData has it. */
function pixelTable(dark) {
	const key = dark ? 'dark' : 'light',
		table = new Uint32Array(512 * 64),
		bytes = new Uint8Array(table.buffer);

	for (let cell = 0; cell < 512; cell++) {
		const code = cell & 255,
			pattern = PATTERNS[code] || (code > PHI_LAST ? PATTERNS[UNKNOWN] : null);
		const pair = pattern ? pattern[key].map(fromHex) : [phiColour(cellPhi(code), dark)];

		for (let i = 0; i < 64; i++) {
			const stalled = cell >= STALLED && STALL.on(i & 7, i >> 3);
			const rgb = stalled ? STALL[key] : pattern && pattern.on(i & 7, i >> 3) ? pair[1] : pair[0];

			bytes.set([...rgb, 255], (cell * 64 + i) * 4);
		}
	}
	return table;
}

/* A cell as a picture of `width` by `height` pixels of a canvas, for the legend. */
function swatch(canvas, cell, dark) {
	const table = pixelTables(dark),
		image = new ImageData(canvas.width, canvas.height),
		pixels = new Uint32Array(image.data.buffer);

	for (let i = 0; i < pixels.length; i++)
		pixels[i] = table[cell * 64 + (Math.floor(i / canvas.width) & 7) * 8 + ((i % canvas.width) & 7)];
	canvas.getContext('2d').putImageData(image, 0, 0);
}

const pixelTables = (() => {
	const made = {};

	return (dark) => (made[dark] = made[dark] || pixelTable(dark));
})();
