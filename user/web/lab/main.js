// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- the lab: controls, address, question, figure */

addEventListener('DOMContentLoaded', () => {
	const SLIDERS = ['threshold', 'pause', 'loss', 'burst', 'jitter'];
	let state = fromAddress(location.hash),
		base = null,
		sequence = null,
		answer = null,
		lanes = [];

	function trouble(text) {
		byId('banners').replaceChildren();
		if (text) add(byId('banners'), 'p', {class: 'warning', role: 'alert'}, text);
	}

	/* The timeout's slider goes by ratios: from half a mean to forty. */
	const timeoutOf = (at) => sequence.median_ns * 0.5 * 80 ** (at / 1000);
	const timeoutAt = (ns) => (1000 * Math.log(ns / (sequence.median_ns * 0.5))) / Math.log(80);

	function showControls() {
		byId('timeout').value = String(timeoutAt(state.timeout_ms * MS));
		for (const key of SLIDERS) byId(key).value = String(state[key]);
		const source = state.peer === null ? 'w:' + state.source : 'peer:' + state.peer;

		if (![...byId('source').options].some((o) => o.value === source) && state.peer !== null)
			add(byId('source'), 'option', {value: source}, state.peer);
		byId('source').value = source;
		say(
			byId('timeout-said'),
			`${time(state.timeout_ms * MS)}, ${digits((state.timeout_ms * MS) / sequence.median_ns)} × the median`,
		);
		say(byId('threshold-said'), state.threshold.toFixed(1));
		say(byId('threshold-now'), digits(state.threshold));
		say(byId('pause-said'), `${state.pause} × the mean, ${time(state.pause * sequence.mean_ns)}`);
		say(byId('loss-said'), state.loss + ' %');
		say(byId('burst-said'), state.burst + (state.burst === 1 ? ' beat' : ' beats on average'));
		say(byId('jitter-said'), state.jitter + ' % of the mean');
		mark(byId('inject'), 'aria-pressed', String(state.injected));
		say(byId('inject'), state.injected ? 'take the pause out' : 'inject a pause');
		for (const b of byId('models').children) mark(b, 'aria-pressed', String(!state.hidden.includes(b.value)));
	}

	function show() {
		if (!answer) return;
		lanes = verdicts(answer, sequence).filter((l) => !state.hidden.includes(l.name));
		plot.show({sequence, said: answer, lanes, hidden: state.hidden, linear: byId('linear').checked});
		showCounts(byId('counts'), lanes, state.injected);
		say(byId('moral'), moral(lanes, state.injected));
		document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
	}

	/* Something has changed: into the address, to the daemon's arithmetic, onto the screen. */
	function change(what = {}) {
		Object.assign(state, what);
		sequence = sequenceOf(base, {...state, pause: state.injected ? state.pause : 0});
		if (!state.timeout_ms) state.timeout_ms = Number(((5 * sequence.median_ns) / MS).toPrecision(2));
		history.replaceState(null, '', toAddress(state));
		showControls();
		const asked = sequence;

		judge(
			{
				settings: base.settings,
				window: base.window,
				threshold: state.threshold,
				fixed_ns: Math.round(state.timeout_ms * MS),
				models: MODELS,
				intervals_ns: sequence.intervals_ns,
				steps: sequence.steps,
			},
			(said) => {
				if (asked !== sequence) return;
				answer = said;
				trouble(null);
				show();
			},
			(why) => trouble('phi could not be computed: ' + why.message),
		);
	}

	async function load() {
		if (state.peer === null) {
			base = builtIn(state.source, state.seed);
			change();
			return;
		}
		try {
			const said = await ask('/api/v1/window?' + new URLSearchParams({peer: state.peer}));

			if (said.intervals_ns.length < 2) throw new Error('it has been heard too seldom');
			base = ofPeer(said);
			state.at = Math.min(state.at, Math.floor(base.intervals_ns.length * 0.8));
			change();
		} catch (why) {
			trouble(
				`The window of ${state.peer} cannot be shown: ${why.message}. Here is a steady sender instead.`,
			);
			Object.assign(state, {peer: null, source: 'steady'});
			base = builtIn('steady', state.seed);
			change();
		}
	}

	function words(i) {
		const steps = sequence.steps[i],
			lines = [
				`beat ${i}: ${time(sequence.intervals_ns[i])}` +
					(i === sequence.pauseAt ? ', the injected pause' : '') +
					(steps > 1 ? `, ${count(steps - 1, 'beat')} lost in it` : ''),
			];

		for (const m of answer.models.filter((m) => !state.hidden.includes(m.model)))
			lines.push(
				`${m.model}: ` +
					(m.phi[i] === null
						? 'no estimate yet'
						: `phi ${phiText(m.phi[i])}, waits ${time(m.reach_ns[i])}`),
			);
		return lines;
	}

	function beginModels() {
		for (const name of MODELS) {
			const b = add(byId('models'), 'button', {type: 'button', value: name});

			add(b, 'i', {class: 'key', 'aria-hidden': 'true'}).style.backgroundColor = `var(${modelColour(name)})`;
			add(b, 'span', {}, name);
			b.addEventListener('click', () => {
				state.hidden = state.hidden.includes(name)
					? state.hidden.filter((h) => h !== name)
					: [...state.hidden, name];
				history.replaceState(null, '', toAddress(state));
				showControls();
				show();
			});
		}
	}

	function beginSources() {
		const own = add(byId('source'), 'optgroup', {label: 'built in'});

		for (const [key, b] of Object.entries(BUILT_IN)) add(own, 'option', {value: 'w:' + key}, b.title);
		ask('/api/v1/peers').then(
			(peers) => {
				const live = add(byId('source'), 'optgroup', {label: 'live, as of now'}),
					chosen = byId('source').value;

				byId('source').querySelector(':scope > option')?.remove();
				for (const p of peers.filter((p) => p.samples === undefined || p.samples >= 2))
					add(live, 'option', {value: 'peer:' + p.name}, p.name);
				if (state.peer !== null && ![...live.children].some((o) => o.value === 'peer:' + state.peer))
					add(live, 'option', {value: 'peer:' + state.peer}, state.peer);
				byId('source').value = chosen;
			},
			(why) => trouble('There are no live peers to choose from: ' + why.message),
		);
		byId('source').addEventListener('change', (event) => {
			const [, kind, name] = event.target.value.match(/^(w|peer):([^]*)$/);

			Object.assign(state, {timeout_ms: 0}, kind === 'w' ? {source: name, peer: null} : {peer: name});
			load();
		});
	}

	function beginControls() {
		byId('timeout').addEventListener('input', (event) =>
			change({timeout_ms: timeoutOf(Number(event.target.value)) / MS}),
		);
		for (const key of SLIDERS)
			byId(key).addEventListener('input', (event) =>
				change({[key]: Number(event.target.value), ...(key === 'pause' ? {injected: true} : {})}),
			);
		byId('inject').addEventListener('click', () => change({injected: !state.injected}));
		byId('again').addEventListener('click', () => {
			state.seed = (state.seed % 999) + 1;
			load();
		});
		byId('share').addEventListener('click', async () => {
			await navigator.clipboard?.writeText(location.href).catch(() => {});
			say(byId('share'), navigator.clipboard ? 'copied' : 'it is in the address bar');
			setTimeout(() => say(byId('share'), 'copy link'), 1500);
		});
		byId('linear').addEventListener('change', show);
		byId('controls').addEventListener('submit', (event) => event.preventDefault());
	}

	plot.begin(byId('plot'));
	theme.begin();
	beginModels();
	beginSources();
	beginControls();
	handle(byId('plot'), {
		timeout: (ns, ratio) =>
			change({
				timeout_ms:
					Math.min(
						40 * sequence.median_ns,
						Math.max(sequence.median_ns / 2, ns ?? state.timeout_ms * MS * ratio),
					) / MS,
			}),
		pauseAt: (i) => change({at: i, injected: true}),
		words,
	});
	addEventListener('hashchange', () => {
		state = fromAddress(location.hash);
		load();
	});
	load();
});
