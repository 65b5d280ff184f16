# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The configuration of a daemon that listens at eth0 for PEERS, who beat every 100 ms. Source it after lib.sh or what stands for
# it; the test has id_of NAME, and CONSUMERS, lines of YAML.

SOCKET=$WORK/event.sock
FILE=$WORK/kphi.yaml

# write_file [CONSUMERS]: with other consumers if given
write_file() {
	local name

	{
		echo "devices: [{name: eth0}]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $WORK/state"
		echo "peers:"
		for name in "${PEERS[@]}"; do
			echo "  - {name: $name, id: $(id_of "$name"), interval: 100ms}"
		done
		echo "consumers:"
		echo "${1-$CONSUMERS}"
	} > "$FILE"
}
