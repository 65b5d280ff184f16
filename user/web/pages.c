// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/pages.h"

#include <lab.html.h>
#include <page.html.h>

/*
 * What a page may do: its own script, its own style, and questions to where it came from. Attributes `style`
 * are let pass, because with no image from elsewhere they can tell nobody anything.
 */
#define POLICY(style, script)                                                                                \
	"default-src 'none'; connect-src 'self'; img-src data:; style-src-elem '" style                      \
	"'; style-src-attr 'unsafe-inline'; style-src '" style "'; script-src '" script                      \
	"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const struct page page_map = {
	.bytes = page_html,
	.length = sizeof(page_html) - 1,
	.tag = "\"" page_html_tag "\"",
	.policy = POLICY(page_html_style, page_html_script),
};

const struct page page_lab = {
	.bytes = lab_html,
	.length = sizeof(lab_html) - 1,
	.tag = "\"" lab_html_tag "\"",
	.policy = POLICY(lab_html_style, lab_html_script),
};
