#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Three observers under a real Prometheus, with the rules and the dashboard of tools/prometheus. First what they say is
# judged by others: promtool, the strict parser of Prometheus' Python library, the node exporter. Then a peer dies, an
# observer freezes, another one is cut off, a daemon stops: the alerts name each of them and nobody else. Alerts wait for
# 3 s here; promtool's own tests know how long they do.

. "$(dirname "$0")/pair.bash"

OBSERVERS=(o1 o2 o3)
PEERS=(p1 p2 p3 p4 p5)
AT=$ROOT/tools/prometheus
PINS=$KPHI_PIN
URL=http://127.0.0.1:9090

need() {
	if ! peer "$1"; then
		skip_all "$1 cannot be had here"
	fi
}
need python3-prometheus-client
PYTHON_LIBRARY=$PEER/usr/lib/python3/dist-packages
need prometheus-node-exporter
NODE_EXPORTER=$PEER/usr/bin/prometheus-node-exporter
need prometheus
PROMTOOL=$PEER/usr/bin/promtool

# --- the world: peers in a, observers behind a switch, Prometheus on wires of its own ----------------------------------

# of OBSERVER COMMAND...: with the store of that observer
of() {
	KPHI_PIN=$PINS/$1 "${@:2}"
}

observer_conf() {
	local name

	echo "devices: [{name: eth0}]"
	echo "outputs: {socket: $WORK/$1.sock, stdout: no}"
	echo "web: {listen: '10.1.${1#o}.2:7441'}"
	echo "state: $WORK/state-$1"
	echo "priority: 0"
	echo "peers:"
	for name in "${PEERS[@]}"; do
		echo "  - {name: $name, id: $(uuid "${name#p}"), interval: 500ms, pause: 3s, host: rack}"
	done
	# It is told at once, so that an observer that is cut off really suspects everybody.
	echo "consumers:"
	echo "  - {name: page, suspect: 8, correlated: off}"
	echo "  - {name: try, suspect: 3, shadow: yes, correlated: off}"
}

observer() {
	local n=${1#o}

	ns_add "$1"
	veth_pair switch "s$n" - "$1" eth0 "10.0.0.1$n/24"
	in_ns switch ip link set "s$n" master br0
	veth_pair prom "eth$n" "10.1.$n.1/24" "$1" eth1 "10.1.$n.2/24"
	observer_conf "$1" > "$WORK/$1.yaml"
	eventually 10 in_ns a ping -c 1 -W 1 "10.0.0.1$n"
	of "$1" start "$1" in_ns "$1" kphi run config "$WORK/$1.yaml"
}

prometheus_conf() {
	local name

	echo "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}"
	echo "rule_files: [$WORK/rules.yaml]"
	echo "scrape_configs:"
	echo "  - job_name: kphi"
	echo "    static_configs:"
	for name in "${OBSERVERS[@]}"; do
		echo "      - {targets: ['10.1.${name#o}.2:7441'], labels: {instance: $name}}"
	done
}

world() {
	local name

	ns_add a
	ns_add switch
	ns_add prom
	in_ns switch ip link add br0 type bridge
	in_ns switch ip link set br0 up
	veth_pair a eth0 10.0.0.1/24 switch sa -
	in_ns switch ip link set sa master br0
	for name in "${PEERS[@]}"; do
		beat "$name" "${name#p}" 10.0.0.11 10.0.0.12 10.0.0.13 interval 500ms
	done
	for name in "${OBSERVERS[@]}"; do
		observer "$name"
	done
}

watch() {
	sed 's/^\( *\)for: .*/\1for: 3s/' "$AT/kphi-rules.yaml" > "$WORK/rules.yaml"
	prometheus_conf > "$WORK/prometheus.yaml"
	start prometheus in_ns prom env LD_LIBRARY_PATH="$PEER_LIB" "$PEER/usr/bin/prometheus" --log.level=warn \
		--config.file="$WORK/prometheus.yaml" --storage.tsdb.path="$WORK/tsdb" --web.listen-address=127.0.0.1:9090
}

# --- asking Prometheus --------------------------------------------------------------------------------------------------

promtool() {
	LD_LIBRARY_PATH=$PEER_LIB "$PROMTOOL" "$@"
}

# query EXPRESSION: a JSON array
query() {
	in_ns prom env LD_LIBRARY_PATH="$PEER_LIB" "$PROMTOOL" query instant -o json "$URL" "$1"
}

# value EXPRESSION: of its one sample; `none` without
value() {
	query "$1" | jq -r '[.[].value[1]] | if length == 0 then "none" else join(" ") end'
}

value_is() { # EXPRESSION VALUE
	[ "$(value "$1")" = "$2" ]
}

# firing: alerts and whom they name, sorted, with blanks between
firing() {
	query 'ALERTS{alertstate="firing"}' | jq -r '[.[].metric | "\(.alertname):\(.peer // .instance)"] | sort | join(" ")'
}

firing_is() {
	[ "$(firing)" = "$1" ]
}

# fires NAME ALERTS: soon just these, and in the next three seconds no others
fires() {
	ok "$1" eventually 60 firing_is "$2"
	sleep 3
	is "$1: and nothing else" "$(firing)" "$2"
}

# --- what is said, judged by others --------------------------------------------------------------------------------------

# metrics_of OBSERVER WORD...
metrics_of() {
	of "$1" in_ns "$1" kphi peer show metrics "${@:2}"
}

judge_texts() {
	metrics_of o1 > "$WORK/openmetrics"
	metrics_of o1 format prometheus > "$WORK/older.prom"
	ok "a strict parser of OpenMetrics takes it" env PYTHONPATH="$PYTHON_LIBRARY" python3 - "$WORK/openmetrics" <<- 'END'
		import sys
		from prometheus_client.openmetrics.parser import text_string_to_metric_families

		families = {f.name: f for f in text_string_to_metric_families(open(sys.argv[1]).read())}
		assert families["kphi_peer_beats"].type == "counter"
		assert families["kphi_peer_silence_seconds"].unit == "seconds"
		assert families["kphi_verdict_latency_seconds"].type == "histogram"
		names = {s.labels["peer"] for s in families["kphi_peer_state"].samples}
		assert 'odd "name"\\ é' in names and len(names) == 6, names
	END
	ok "and takes nothing else" ! env PYTHONPATH="$PYTHON_LIBRARY" python3 - "$WORK/older.prom" <<- 'END'
		import sys
		from prometheus_client.openmetrics.parser import text_string_to_metric_families

		list(text_string_to_metric_families(open(sys.argv[1]).read()))
	END
	is "promtool finds nothing to say about the older format" "$(promtool check metrics < "$WORK/older.prom" 2>&1)" ""
	ok "nor about the rules" promtool check rules "$AT/kphi-rules.yaml"
	ok "the rules do what their tests say" promtool test rules "$AT/kphi-rules-test.yaml"
	is "the server says the same families" "$(curl_of o1 | grep '^# TYPE')" "$(grep '^# TYPE' "$WORK/openmetrics")"
}

curl_of() {
	in_ns prom curl -s "http://10.1.${1#o}.2:7441/metrics"
}

# Both formats, as the file of a textfile collector.
textfiles() {
	local format

	mkdir "$WORK/textfile"
	start exporter in_ns prom env LD_LIBRARY_PATH="$PEER_LIB" "$NODE_EXPORTER" --collector.disable-defaults \
		--collector.textfile --collector.textfile.directory="$WORK/textfile" --web.listen-address=127.0.0.1:9100
	for format in older.prom openmetrics; do
		cp "$WORK/$format" "$WORK/textfile/new"
		mv "$WORK/textfile/new" "$WORK/textfile/kphi.prom"
		ok "the node exporter takes $format" eventually 10 exports_peers
		is "$format: without an error" "$(exporter | grep '^node_textfile_scrape_error')" "node_textfile_scrape_error 0"
	done
	like "the older one with its types" "$(cp "$WORK/older.prom" "$WORK/textfile/kphi.prom" && exporter)" \
		'# TYPE kphi_peer_beats_total counter'
	stop exporter
}

exporter() {
	in_ns prom curl -s http://127.0.0.1:9100/metrics
}

exports_peers() {
	[ "$(exporter | grep -c '^kphi_peer_beats_total{')" = 6 ]
}

# known_names: of samples, as they are exported and recorded
known_names() {
	awk '$2 == "TYPE" { print $3; if ($4 == "histogram") print $3 "_bucket\n" $3 "_sum\n" $3 "_count" }' "$WORK/older.prom"
	sed -n 's/^ *- record: //p' "$AT/kphi-rules.yaml"
}

# names_in FILE: metrics that it names
names_in() {
	grep -oE '\b(instance_peer|instance|peer):kphi[a-z_]+:[a-z_]+|\bkphi_[a-z_]+' "$1" | sort -u
}

# expressions: of the dashboard, one a line, with its variables filled in
expressions() {
	jq -r '[.panels[].targets[]?.expr, .annotations.list[].expr][]' "$AT/kphi-dashboard.json" |
		sed 's/\$__rate_interval/5s/g; s/\$__interval/5s/g; s/\$\(job\|instance\|peer\)/.*/g'
}

names() {
	local expression failed="" empty=0 all=0

	jq -r '.panels[].targets[]?.expr, (.templating.list[].definition // empty)' "$AT/kphi-dashboard.json" > "$WORK/dashboard"
	grep -v '^ *#\|_url:\|description:\|summary:' "$AT/kphi-rules.yaml" > "$WORK/rules"
	known_names | sort -u > "$WORK/known"
	ok "there are names to compare" test "$(names_in "$WORK/dashboard" | wc -l)" -ge 30
	is "the dashboard asks for nothing that is not exported" "$(names_in "$WORK/dashboard" | comm -23 - "$WORK/known")" ""
	is "nor do the rules" "$(names_in "$WORK/rules" | comm -23 - "$WORK/known")" ""
	is "each panel says what it shows, and asks the source that was chosen" "$(jq -r '.panels[] | select(.type != "row") |
		select((.description | length) == 0 or any(.datasource, .targets[].datasource; .uid != "${datasource}")) | .title' \
		"$AT/kphi-dashboard.json")" ""
	is "each alert says how long, how bad, what, why and where to read on" "$(grep -c '  - alert:' "$AT/kphi-rules.yaml") of each" \
		"$(for word in 'for:' 'labels: {severity' 'summary:' 'description:' 'runbook_url:'; do grep -c " $word" "$AT/kphi-rules.yaml"; done |
			sort -u) of each"
	is "what is read on is there" "$(sed -n 's/.*runbook_url: .*#//p' "$AT/kphi-rules.yaml" | sort)" \
		"$(sed -n 's/^### \(Kphi.*\)/\L\1/p' "$ROOT/docs/many-observers.md" | sort)"
	while IFS= read -r expression; do
		all=$((all + 1))
		query "$expression" > "$WORK/answer" 2>&1 || failed+="$expression: $(cat "$WORK/answer")"$'\n'
		[ "$(cat "$WORK/answer")" != "[]" ] || empty=$((empty + 1))
	done < <(expressions)
	is "Prometheus understands all $all expressions of the dashboard" "$failed" ""
	between "and has an answer to most" $empty 0 $((all / 2))
}

# --- what happens ---------------------------------------------------------------------------------------------------------

ready() {
	[ "$(value 'count(kphi_peer_state{state="up"})')" = 15 ] && [ "$(value 'sum(peer:kphi_peer_suspected:count)')" = 15 ]
}

death() {
	stop p1 KILL
	fires "a peer dies: two observers and more name it" "KphiPeerSuspected:p1"
	is "all three do" "$(value 'peer:kphi_peer_suspected:sum{peer="p1"}')" 3
	between "the daemons have counted their events" "$(value 'sum(kphi_events_total{event="suspect",cause="silence"})')" 6 1000
	between "and how long each verdict took" "$(value 'sum(kphi_verdict_latency_seconds_count)')" 3 1000
	is "which page has counted, too" "$(value 'count(kphi_consumer_suspicions_total{consumer="page"} > 0)')" 3
	is "and says why" "$(value 'sum(kphi_verdicts{verdict="suspect",cause="silence"})')" 3
}

# A daemon and its server are stopped; the kernel goes on without them.
freeze() {
	local server

	server=$(pgrep -P "$(pid_of o3)")
	kill -STOP "$(pid_of o3)" "$server"
	fires "an observer freezes: it is missed, and the others' word holds" "KphiObserverGone:o3 KphiPeerSuspected:p1"
	is "its opinion is not counted" "$(value 'peer:kphi_peer_suspected:count{peer="p2"}')" 2
	kill -CONT "$(pid_of o3)" "$server"
	fires "it goes on" "KphiPeerSuspected:p1"
	is "and is counted" "$(value 'peer:kphi_peer_suspected:count{peer="p2"}')" 3
}

cut_off() {
	in_ns switch ip link set s3 nomaster
	fires "an observer is cut off: it is named, and no peer for its sake" "KphiObserverCutOff:o3 KphiPeerSuspected:p1"
	is "witness: it suspects everybody" "$(value 'instance:kphi_peers_suspected:ratio{instance="o3"}')" 1
	is "witness: one voice against p2" "$(value 'sum(instance_peer:kphi_peer_suspected:max{peer="p2"})')" 1
	is "which is no vote" "$(value 'peer:kphi_peer_suspected:sum{peer="p2"}')" 0
	in_ns switch ip link set s3 master br0
	fires "it is back" "KphiPeerSuspected:p1"
}

daemon_stops() {
	kill -STOP "$(pid_of o1)"
	fires "a daemon stops: its state stands in" "KphiDaemonDown:o1 KphiPeerSuspected:p1"
	is "still three votes" "$(value 'peer:kphi_peer_suspected:sum{peer="p1"}')" 3
	kill -CONT "$(pid_of o1)"
	fires "it goes on, too" "KphiPeerSuspected:p1"
}

world
of o1 in_ns o1 kphi peer add 'odd "name"\ é' from 10.0.0.1 port 9999 interval 100ms > /dev/null
for name in "${PEERS[@]}"; do
	ok "$name is up" of o1 eventually 20 state_is "$name" up
done
judge_texts
textfiles
of o1 kphi peer del 'odd "name"\ é' > /dev/null
watch
ok "Prometheus hears three observers of five peers" eventually 60 ready
sleep 3
is "nobody is suspected" "$(firing)" ""
is "daemons and devices of all are seen" \
	"$(value 'count(kphi_daemon_up == 1)') $(value 'count(kphi_device_info{device="eth0",hook="xdp",mode="native"})')" "3 3"
note "$(value 'scrape_samples_scraped{instance="o1"}') series of an observer of five peers with two consumers," \
	"$(metrics_of o1 | wc -c) bytes"
names
death
freeze
cut_off
daemon_stops
is "in all this time one peer was named by an alert, and one only" \
	"$(query 'count by (peer) (count_over_time(ALERTS{alertname=~"KphiPeer.*",alertstate="firing"}[10m]))' | jq -r '[.[].metric.peer] | sort | join(" ")')" p1
