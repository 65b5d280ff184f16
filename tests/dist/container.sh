#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What stands in dist/container: the manifest fits Kubernetes' schema, kphi does its work with exactly the capabilities that it asks
# for and with no fewer, and both lists of packages are those of tools/setup.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/pair.bash"

command -v npm > /dev/null || skip_all "npm is not installed: the schema comes from its registry"
cd "$ROOT" || exit 1
MANIFEST=dist/container/daemonset.yaml
MODULES=$ROOT/build/npm/node_modules
if [ ! -d "$MODULES/kubernetes-models" ]; then
	mkdir -p build/npm
	npm install --silent --no-audit --no-fund --prefix build/npm kubernetes-models@5.1.0 js-yaml@4 > "$WORK/npm" 2>&1 ||
		skip_all "npm cannot fetch the schema: $(tail -n 1 "$WORK/npm")"
fi

is "the manifest fits the schema" "$(node tests/dist/kubernetes.mjs "$MODULES" $MANIFEST 2>&1 | xargs)" "ConfigMap: fits DaemonSet: fits"
sed 's/hostNetwork: true /hostNetwork: 7 /' $MANIFEST > "$WORK/bad.yaml"
like "witness: one that does not is told" "$(node tests/dist/kubernetes.mjs "$MODULES" "$WORK/bad.yaml" 2>&1)" "hostNetwork must be boolean"

# --- the capabilities -------------------------------------------------------------------------------------------------

capabilities=$(sed -n 's/.*add: \[\(.*\)\].*/\1/p' $MANIFEST | tr -d ' ' | tr '[:upper:]' '[:lower:]')
# with LIST COMMAND...: in namespace b, as user 0 with these capabilities and no way to others
with() {
	local list=-all,+${1//,/,+}

	in_ns b setpriv --no-new-privs --bounding-set "$list" --inh-caps "$list" "${@:2}"
}

# The pod's configuration, for the cable of this test.
python3 - $MANIFEST > "$WORK/kphi.yaml" << 'PYTHON'
import re, sys
text = re.search(r"kphi\.yaml: \|\n((?:    .*\n)+)", open(sys.argv[1]).read()).group(1)
print("\n".join(line[4:] for line in text.splitlines()).replace("192.0.2.7", "10.0.0.1"))
print("state: @STATE@\noutputs: {socket: @STATE@/event.sock}")
PYTHON
mkdir "$WORK/state"
sed -i "s,@STATE@,$WORK/state," "$WORK/kphi.yaml"

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
like "witness: without NET_ADMIN nothing is attached" \
	"$(with "${capabilities/net_admin,/}" timeout 5 "$KPHI" --pin "$KPHI_PIN/kphi" run config "$WORK/kphi.yaml" 2>&1)" "NET_ADMIN|not permitted"
kphi --pin "$KPHI_PIN/kphi" store purge > /dev/null 2>&1 || true
list=-all,+${capabilities//,/,+}
start daemon in_ns b setpriv --no-new-privs --bounding-set "$list" --inh-caps "$list" "$KPHI" --pin "$KPHI_PIN/kphi" run config "$WORK/kphi.yaml"
# shellcheck disable=SC2016
start sender in_ns a bash -c 'while sleep 0.1; do echo beat > /dev/udp/10.0.0.2/9000; done'
heard() {
	"$KPHI" --pin "$KPHI_PIN/kphi" -j peer show db1 | jq -e '.beats >= 10'
}
ok "with what the manifest asks for it listens and hears" eventually 30 heard
ok "the probe of the pod is content" with "$capabilities" "$KPHI" event socket "$WORK/state/event.sock"
stop daemon
stop sender

# --- the packages -----------------------------------------------------------------------------------------------------

needed=$(awk '/^NEEDS=/,/^.$/' tools/setup | awk '$3 == "build:" && $1 != "binutils" { print $1 }' | sort)
listed() {
	sort -u | comm -13 - <(echo "$needed") | xargs
}
is "the Containerfile installs what a build takes" "$(tr -cs 'a-z0-9.+-' '\n' < dist/container/Containerfile | listed)" ""
is "and so do the packages' build dependencies" "$(sed -n '/^Build-Depends/,/^[A-TV-Z]/p' debian/control | tr -s ' ,:' '\n' | listed)" "gcc libc6-dev make"
like "witness: the list is not empty" "$needed" libbpf-dev
