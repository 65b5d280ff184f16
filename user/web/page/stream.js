// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what the server says, as it says it: roster, frames and events; and whether it still does */

const LATE_MS = 2000; /* a frame comes four times a second */
const AGAIN_MS = 2000;

/* on: {roster(peers), frame(frame), event(event), opened(), state(live, since)}: `since` in milliseconds since 1970 */
function openStream(on) {
	let source = null,
		lastFrame = 0,
		live = null,
		since = Date.now();

	function is(now) {
		if (now === live) return;
		live = now;
		since = live ? Date.now() : lastFrame || Date.now();
		on.state(live, since);
	}

	const parsed = (f) => (message) => f(JSON.parse(message.data));

	function connect() {
		source = new EventSource('/api/v1/stream');
		source.addEventListener('open', on.opened);
		source.addEventListener(
			'roster',
			parsed((r) => on.roster(r.peers)),
		);
		source.addEventListener('event', parsed(on.event));
		source.addEventListener(
			'frame',
			parsed((frame) => {
				lastFrame = Date.now();
				on.frame(frame);
				is(true);
			}),
		);
		/* A browser comes back by itself after a broken connection, but not after an answer such as 503. */
		source.addEventListener('error', () => {
			is(false);
			if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
		});
	}

	/* A connection that is open and silent is as good as none. */
	setInterval(() => {
		if (live && Date.now() - lastFrame > LATE_MS) is(false);
	}, 250);
	connect();
}

/* Asks again and again, the next time after the answer to the last, and only while somebody looks. period_ms() says
   when. */
function askEvery(path, period_ms, onAnswer, onFailure) {
	async function round() {
		if (document.visibilityState === 'visible') await ask(path).then(onAnswer).catch(onFailure);
		setTimeout(round, period_ms());
	}

	round();
}
