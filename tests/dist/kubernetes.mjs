// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// kubernetes.mjs MODULES FILE: holds each document of the file against Kubernetes' own schema of its kind, as the npm package
// kubernetes-models in the folder MODULES has it. A line for each; exit status 1 if one does not fit.
import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const from = createRequire(pathToFileURL(modules + "/"));
const load = async (name) => import(pathToFileURL(from.resolve(name)));
const yaml = await load("js-yaml");
let bad = 0;
for (const document of yaml.loadAll(fs.readFileSync(file, "utf8"))) {
	const kinds = await import(pathToFileURL(`${modules}/kubernetes-models/${document.apiVersion}/index.js`));
	try {
		new kinds[document.kind](document).validate();
		console.log(`${document.kind}: fits`);
	} catch (error) {
		bad = 1;
		console.log(`${document.kind}: ${error.message}`);
	}
}
process.exit(bad);
