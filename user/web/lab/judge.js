// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- phi, from the daemon's own arithmetic. There is none in this page. */

const MODELS = ['normal', 'akka', 'exponential', 'loss', 'empirical'];
const modelColour = (name) => `--c${MODELS.indexOf(name)}`;

/* One question at a time, and only the newest of those that wait: a slider asks more often than anybody can answer. */
const judge = (() => {
	let asking = false,
		waiting = null;

	async function go() {
		asking = true;
		while (waiting) {
			const {question, onAnswer, onFailure} = waiting;

			waiting = null;
			try {
				const said = await ask('/api/v1/phi', question);

				if (!waiting) onAnswer(said);
			} catch (why) {
				onFailure(why);
			}
		}
		asking = false;
	}

	return (question, onAnswer, onFailure) => {
		waiting = {question, onAnswer, onFailure};
		if (!asking) go();
	};
})();

/* What each detector made of the sequence: mistakes are detections of what was no injected pause. */
function verdicts(said, sequence) {
	const last = sequence.intervals_ns.length - 1;
	const row = (name, detections, judged, waits, now) => ({
		name,
		detections,
		judged,
		mistakes: detections.filter((i) => i !== sequence.pauseAt).length,
		found: sequence.pauseAt !== null && detections.includes(sequence.pauseAt),
		after_ns: sequence.pauseAt === null ? null : waits(sequence.pauseAt),
		crash_ns: now,
	});

	return [
		row('fixed', said.fixed.breaches, last + 1, () => said.fixed.timeout_ns, said.fixed.timeout_ns),
		...said.models.map((m) =>
			row(
				m.model,
				m.detections,
				m.phi.filter((phi) => phi !== null).length,
				(i) => m.reach_ns[i],
				m.reach_ns[last],
			),
		),
	];
}
