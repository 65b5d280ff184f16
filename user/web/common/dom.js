// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
'use strict';

/* --- elements: text is only ever set as text, so a name with markup in it is a name */

const byId = (id) => document.getElementById(id);

function add(to, tag, attributes = {}, text) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(attributes))
		if (value !== null && value !== undefined) element.setAttribute(key, value);
	if (text !== undefined) element.textContent = text;
	to.append(element);
	return element;
}

/* Only what differs touches the document, because each touch costs a layout and is read out. */
function say(element, text) {
	if (element.textContent !== text) element.textContent = text;
}

function mark(element, name, value) {
	if (value === null || value === undefined || value === false) element.removeAttribute(name);
	else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/* Whatever fails is said on the page, not only in a console that nobody has open. */
addEventListener('error', (event) => {
	const p = document.createElement('p');

	p.className = 'warning';
	p.textContent = 'This page has failed: ' + event.message;
	document.querySelector('main').prepend(p);
	document.documentElement.dataset.error = event.message;
});
