// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

/* --- what is asked for now and then */

/* Throws the sentence that the server has for it. `question`: asked by POST */
async function ask(path, question) {
	const how = question
		? {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(question)}
		: {};
	const answer = await fetch(path, {cache: 'no-store', ...how});
	const said = await answer.json();

	if (!answer.ok) throw new Error(said.error || 'status ' + answer.status);
	return said;
}
