#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Every fuzz target for KPHI_FUZZ_SECONDS (2; `make fuzz` gives them 60) from seeds that the other tests have, and all that was
# ever found (tests/fuzz/found/TARGET/). What is found stays in build/fuzz/found/TARGET/, smaller if that can be done.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

SECONDS_EACH=${KPHI_FUZZ_SECONDS:-2}
FUZZ=$ROOT/build/fuzz
cd "$ROOT"

# seed TARGET NAME: standard input as a seed
seed() {
	mkdir -p "$FUZZ/seeds/$1"
	cat > "$FUZZ/seeds/$1/$2"
}

# byte NUMBER...
byte() {
	local number

	for number in "$@"; do
		printf '%b' "\\x$(printf %02x "$number")"
	done
}

# frames CAPTURE: its frames, one a file
frames() {
	python3 - "$1" "$FUZZ/seeds/frame/$(basename "$1" .pcap)" <<- 'END'
		import struct, sys
		data = open(sys.argv[1], 'rb').read()
		at, n = 24, 0
		while at + 16 <= len(data) and n < 20:
		    length = struct.unpack('<I', data[at + 8:at + 12])[0]
		    open('%s-%d' % (sys.argv[2], n), 'wb').write(b'\0' + data[at + 16:at + 16 + length])
		    at, n = at + 16 + length, n + 1
	END
}

# request NAME LINE...: as it goes over the wire, whole and in small parts; the last word is the body
request() {
	local name=$1 text

	text=$(printf '%s\r\n' "${@:2:$#-2}" && printf '\r\n%s.' "${*: -1}")
	{ byte 0; printf %s "${text%.}"; } | seed http "$name"
	{ byte 7; printf %s "${text%.}"; } | seed http "$name-in-parts"
}

http_seeds() {
	local path body='{"settings":{"interval_ns":100000000,"pause_ns":0},"window":100,"threshold":8.5,"fixed_ns":1000000000,'

	body+='"models":["normal","loss"],"intervals_ns":[100000000,101000000,99000000],"steps":[1,1,2]}'
	for path in / /lab /metrics /healthz /api/v1/peers '/api/v1/events?after=7' '/api/v1/window?peer=db%31' \
		'/api/v1/history?seconds=60' /api/v1/stream /nowhere; do
		request "get-${path//[^a-z]/-}" "GET $path HTTP/1.1" 'Host: localhost:7441' 'Last-Event-ID: 5000001' ''
	done
	request tag 'GET / HTTP/1.1' 'Host: [::1]' 'If-None-Match: *' ''
	request head 'HEAD /healthz HTTP/1.0' ''
	request stranger 'GET /metrics HTTP/1.1' 'Host: evil.example' ''
	request post 'POST /api/v1/phi HTTP/1.1' 'Host: node7' "Content-Length: ${#body}" "$body"
	request chunked 'POST /api/v1/phi HTTP/1.1' 'Host: node7' 'Transfer-Encoding: chunked' \
		$'a\r\n{"window":\r\n3\r\n99}\r\n0\r\n\r\n'
	request smuggled 'POST /api/v1/phi HTTP/1.1' 'Host: node7' 'Content-Length: 2' 'Transfer-Encoding: chunked' '{}'
	request large 'POST /api/v1/phi HTTP/1.1' 'Host: node7' 'Content-Length: 300000' '{}'
	request pipelined 'GET /healthz HTTP/1.1' 'Host: localhost' '' 'GET /lab HTTP/1.1' 'Host: localhost' ''
	printf 'b%s' "$body" | seed phi body
	printf 'b{"intervals_ns":[1]}' | seed phi least
	printf 'hnode7:7441\nnode7.example\nwatch.example, other' | seed phi name
	printf 'h[fe80::1%%eth0]:80\nnode7' | seed phi bracketed
}

seeds() {
	local file i

	rm -rf "$FUZZ/seeds"
	mkdir -p "$FUZZ/seeds/frame"
	seed config example < dist/kphi.yaml
	for file in tests/prog/captures/*.pcap; do
		frames "$file"
		{ byte 0; head -c 20000 "$file"; } | seed convert "$(basename "$file")"
	done
	printf '\002peer,arrival_ns,sequence\ndb1,1000,1\n"d,2",2000\n' | seed convert csv
	printf '\003100000.5\n99000\n' | seed convert gaps-us
	printf '\004100.25\n99\n' | seed convert gaps-ms
	printf '\005/10.0.0.1:7000 100 200 300\n' | seed convert cassandra
	i=0
	for file in akka bird cassandra cassandra_gossip consul frr jsonl sentinel_raw sentinel_numbered serf; do
		for ((i = 0; i < 8; i++)); do
			{ byte "$i" 0; head -c 8000 tests/unit/data/check/$file.*; } | seed check "$file-$i"
		done
	done
	"$KPHI" --pin "$KPHI_PIN" store create peers 8 window 100 > /dev/null
	kphi peer add native id 00000000-0000-4000-8000-000000000001 interval 100ms host rack > /dev/null
	kphi peer add bfd proto bfd from 10.0.0.2 > /dev/null
	kphi peer add vrrp proto vrrp vrid 51 > /dev/null
	kphi peer add any proto udp from 10.0.0.9 port 9000 match 0:0181 > /dev/null
	kphi store save "$WORK/saved" > /dev/null
	cut -d ' ' -f 2- "$WORK/saved" | seed saved store
	{ byte 0; cat "$WORK/saved"; } | seed saved whole
	printf 'peer,arrival_ns,sequence\n%s\n%s\n%s\n' a,1000000000,1 b,1100000000,7 a,2000000000,2 > "$WORK/small.csv"
	kphi trace convert "$WORK/small.csv" "$WORK/small.trace" from csv to trace interval 1s > /dev/null
	{ byte 0; cat "$WORK/small.trace"; } | seed trace whole
	{ byte 255; tail -c +81 "$WORK/small.trace"; } | seed trace entries
	printf '1h30m' | seed words duration
	printf '10.0.0.2%%eth0' | seed words endpoint
	printf '0:0133/0fff' | seed words match
	printf 'audp d10.0.0.2 e9000 g0:01 h8:32le' | seed words rule
	http_seeds
	python3 -c 'import struct, sys
sys.stdout.buffer.write(b"KPHI" + struct.pack(">BBHHHI16sQQQffQQQ", 1, 1, 0, 88, 0, 0, b"1" * 16, 3, 4, 5, 0.5, 0.5, 6, 7, 8))' |
		seed wire beat
}

# coverage LOG: branches that were taken
coverage() {
	sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$1" | tail -n 1
}

# fuzz TARGET
fuzz() {
	local target=$1 found=$FUZZ/found/$1 corpus=$FUZZ/corpus/$1 log=$WORK/$1.log status=0 known=()

	mkdir -p "$found" "$corpus" "$FUZZ/seeds/$target"
	ASAN_OPTIONS=detect_leaks=1 "build/tests/fuzz/${target}_fuzz" -max_total_time="$SECONDS_EACH" -timeout=20 -rss_limit_mb=2048 \
		-max_len=20000 -print_final_stats=1 -artifact_prefix="$found/" "$corpus" "$FUZZ/seeds/$target" > "$log" 2>&1 || status=$?
	note "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, $(coverage "$log") branches"
	is "$target: nothing is found" "$status $(sed -n '/^SUMMARY\|not so:/p' "$log")" "0 "
	mapfile -t known < <(compgen -G "tests/fuzz/found/$target/*" || true)
	[ ${#known[@]} = 0 ] || ok "$target: what was found before" "build/tests/fuzz/${target}_fuzz" "${known[@]}"
	between "$target: the seeds reach somewhere" "$(coverage "$log")" 10 100000
}

# once DIRECTORY: the seeds alone, through targets that were built to count the lines that they reach
once() {
	local target files

	for target in "$1"/*_fuzz; do
		mapfile -t files < <(find "$FUZZ/seeds/$(basename "$target" _fuzz)" -type f)
		ok "$(basename "$target" _fuzz): ${#files[@]} seeds" "$target" "${files[@]}"
	done
}

seeds
if [ -n "${KPHI_FUZZ_ONCE-}" ]; then
	once "$KPHI_FUZZ_ONCE"
	exit
fi
for target in build/tests/fuzz/*_fuzz; do
	target=$(basename "$target" _fuzz)
	fuzz "$target"
done
