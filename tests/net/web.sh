#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi web serve with real clients: each path and status, the same documents as the command line, streams, a store and a
# daemon that come and go. The server is started by hand; what `kphi run` makes of it is its own test.

. "$(dirname "$0")/lib.sh"

SOCKET=$WORK/event.sock
FILE=$WORK/kphi.yaml
AT=127.0.0.1:7480

# --- helpers ----------------------------------------------------------------------------------------------------------

# get PATH [CURL-OPTION...]: the body
get() {
	in_ns a curl -sS -m 20 "${@:2}" "http://$AT$1"
}

# status PATH [CURL-OPTION...]
status() {
	in_ns a curl -sS -m 20 -o /dev/null -w '%{http_code}' "${@:2}" "http://$AT$1"
}

# header NAME PATH [CURL-OPTION...]: a header's value
header() {
	in_ns a curl -sS -m 20 -o /dev/null -D - "${@:3}" "http://$AT$2" | tr -d '\r' | sed -n "s/^$1: //Ip"
}

# keys: every path of keys in a document, without the numbers of elements: what a program may rely on
keys() {
	jq -c '[paths | map(if type == "number" then 0 else . end)] | unique'
}

# value FILTER PATH: whether jq finds that of a body
holds() {
	get "$2" | jq -e "$1"
}

# stream NAME [CURL-OPTION...]: a reader of the stream, into its log
stream() {
	start "$1" in_ns a curl -sSN "${@:2}" "http://$AT/api/v1/stream"
}

# data NAME EVENT: the objects of that kind which came
data() {
	awk -v want="event: $2" '/^event: / { kind = $0 } /^data: / && kind == want { print substr($0, 7) }' "$(log_of "$1")"
}

# came NAME EVENT FILTER: has an object come for which jq finds that?
came() {
	[ -n "$(data "$1" "$2" | jq -c "select($3)" 2> /dev/null)" ]
}

id_of() {
	printf '00000000-0000-0000-0000-%012x' "0x$1"
}

beat() {
	start "beat$1" in_ns b kphi beat to 10.97.0.1 id "$(id_of "$1")" interval 50ms state "$WORK/epoch-$1"
}

is_up() {
	[ "$(status "$1")" = "$2" ]
}

ns_add a
ns_add b
veth_pair a eth0 10.97.0.1/24 b eth0 10.97.0.2/24
cat > "$FILE" << YAML
devices: [{name: eth0}]
outputs: {socket: $SOCKET}
state: $WORK/state
consumers: [{name: page, suspect: 8}, {name: shade, suspect: 5, shadow: yes}]
YAML

# --- nothing there yet ------------------------------------------------------------------------------------------------

start web in_ns a kphi web serve listen "$AT" socket "$SOCKET" hosts watch.example,other.example
ok "without a store the server is there" eventually 10 is_up /healthz 503
for path in /metrics /api/v1/peers /api/v1/guard /api/v1/daemon '/api/v1/window?peer=a1' /api/v1/history; do
	is "... $path: 503" "$(status "$path")" 503
done
like "... with the sentence of the command line" "$(get /healthz | jq -r .error)" "there is no store yet"
is "... the pages are" "$(status /) $(status /lab)" "200 200"
is "... and so are the events, of which there is none" "$(get /api/v1/events)" "[]"
stream early
ok "... a stream says so" eventually 5 came early frame '.store == false and .daemon == false and .cells == ""'

# --- a store ----------------------------------------------------------------------------------------------------------

kphi store create > /dev/null
ok "a store that appears is seen" eventually 5 is_up /healthz 200
is "... and is empty" "$(get /api/v1/peers)" "[]"
for name in a1 a2 a3 a4; do
	kphi peer add $name id "$(id_of $name)" interval 50ms host "rack ${name#a}" > /dev/null
done
in_ns a kphi net attach dev eth0 > /dev/null
for name in a1 a2 a3 a4; do
	beat $name
done
ok "peers are up" eventually 10 holds 'map(select(.state == "up" and .samples > 20)) | length == 4' /api/v1/peers
ok "... and the stream has told who they are" eventually 5 came early roster '[.peers[].name] == ["a1", "a2", "a3", "a4"]'
stop early

# --- the same as the command line -------------------------------------------------------------------------------------

is "/api/v1/peers is -j peer show" "$(get /api/v1/peers | keys)" "$(kphi -j peer show | keys)"
is "... of the same peers" "$(get /api/v1/peers | jq -c '[.[] | [.name, .host, .id, .epoch, .slot]]')" \
	"$(kphi -j peer show | jq -c '[.[] | [.name, .host, .id, .epoch, .slot]]')"
# How many CPUs and holds there are may differ between two looks, and with them the paths.
is "/api/v1/guard is -j guard show" "$(get /api/v1/guard | jq -c keys)" "$(kphi -j guard show | jq -c keys)"
is "... with the device" "$(get /api/v1/guard | jq -c '.devices | keys')" "$(in_ns a "$KPHI" --pin "$KPHI_PIN" -j guard show | jq -c '.devices | keys')"
is "/api/v1/window is -j peer window" \
	"$(get '/api/v1/window?peer=a1' | jq -c 'del(.model, .interval_ns, .min_std_ns, .pause_ns, .max_interval_ns) | keys')" \
	"$(kphi -j peer window a1 | jq -c keys)"
is "... and the settings of peer show" "$(get '/api/v1/window?peer=a1' | jq -c '[.model, .interval_ns, .min_std_ns, .pause_ns, .max_interval_ns]')" \
	"$(kphi -j peer show | jq -c '.[0] | [.model, .interval_ns, .min_std_ns, .pause_ns, .max_interval_ns]')"
is "/metrics are those of peer show metrics" "$(get /metrics | grep -v '^[^#]')" "$(kphi peer show metrics | grep -v '^[^#]')"
ok "... with series of peers" grep -q '^kphi_peer_phi{peer="a1"' <(get /metrics)
like "... by their content type" "$(header content-type /metrics)" "^application/openmetrics-text; version=1.0.0"

kphi peer add 'ä ö&=%/' id "$(id_of ff)" > /dev/null
is "a peer of any name has a window" "$(get /api/v1/window -G --data-urlencode 'peer=ä ö&=%/' | jq -r .name)" 'ä ö&=%/'
kphi peer del 'ä ö&=%/' > /dev/null

# --- the past ---------------------------------------------------------------------------------------------------------

# The columns of one peer, as numbers.
cells() {
	get "/api/v1/history?seconds=$2" | jq -r --arg name "$1" '.peers[] | select(.name == $name) | .cells' | base64 -d | od -An -v -tu1 | xargs
}
ok "the past fills" eventually 10 eval '[[ $(cells a1 3) =~ ^([1-9]\ ?){3}$ ]]'
is "... as far back as was asked for" "$(cells a1 3600 | wc -w) $(cells a1 1 | wc -w)" "3600 1"
is "... 600 s if not said" "$(get /api/v1/history | jq -c '[.columns, .step_ns, .truncated, (.peers | length)]')" "[600,1000000000,0,4]"
is "... and nothing before there was anything" "$(cells a1 3600 | cut -d' ' -f1-3000 | tr ' ' '\n' | sort -u)" 0

# --- statuses ---------------------------------------------------------------------------------------------------------

is "400: no name" "$(status /api/v1/window)" 400
is "400: a number that is none" "$(status '/api/v1/history?seconds=1h')" 400
is "400: too much of the past" "$(status '/api/v1/history?seconds=3601')" 400
is "400: a body that is no JSON" "$(status /api/v1/phi -d hello)" 400
is "403: another host's name" "$(status / -H 'Host: evil.example')" 403
is "... our own" "$(status / -H "Host: $(hostname):7480") $(status / -H 'Host: other.example') $(status / -H 'Host: localhost')" "200 200 200"
is "404: no such path" "$(status /nothing)" 404
is "404: no such peer" "$(status '/api/v1/window?peer=nobody')" 404
is "405: another method" "$(status / -X POST) $(status /api/v1/peers -X DELETE) $(status /api/v1/phi)" "405 405 405"
is "... says which there are" "$(header allow /api/v1/phi) / $(header allow / -X PUT)" "POST / GET, HEAD"
is "413: a body beyond 256 KiB" "$(head -c 262145 /dev/zero | status /api/v1/phi --data-binary @-)" 413
is "... told by its length alone" "$(status /api/v1/phi -H 'Content-Length: 99999999' -d x)" 413
is "... or by what comes" "$(head -c 300000 /dev/zero | status /api/v1/phi -H 'Transfer-Encoding: chunked' --data-binary @-)" 413
is "... and not one of just that" "$(head -c 262144 /dev/zero | status /api/v1/phi --data-binary @-)" 400
is "414: a long path" "$(status "/$(head -c 40000 /dev/zero | tr '\0' x)")" 414
is "431: long headers" "$(status / -H "X: $(head -c 40000 /dev/zero | tr '\0' x)")" 431
is "every error is told in JSON" "$(get /nothing | jq -r 'keys[]')" error
is "HEAD has the headers alone" "$(get /api/v1/peers -I -w '%{http_code} %{size_download}' | tail -n 1)" "200 0"
like "... with the length" "$(header content-length /api/v1/peers -I)" "^[1-9][0-9]{3}"
is "HEAD opens no stream" "$(status /api/v1/stream -I)" 200

# --- headers ----------------------------------------------------------------------------------------------------------

tag=$(header etag /)
like "pages have an entity tag" "$tag" '^"[0-9a-f]{32}"$'
is "... by which they are not sent again" "$(status / -H "If-None-Match: $tag") $(status / -H 'If-None-Match: "old"')" "304 200"
is "figures are not to be kept" "$(header cache-control /api/v1/peers)" no-store
is "nothing is to be guessed, or told to others" "$(header x-content-type-options /) $(header referrer-policy /)" "nosniff no-referrer"
is "there are no CORS headers" "$(header access-control-allow-origin /api/v1/peers -H 'Origin: http://evil.example')" ""
policy=$(header content-security-policy /)
# digest ELEMENT: of its text in the page, as a browser computes it
digest() {
	get / | python3 -c '
import base64, hashlib, re, sys
text = re.search("<%s>(.*?)</%s>" % (sys.argv[1], sys.argv[1]), sys.stdin.read(), re.S).group(1)
print(base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())' "$1"
}
ok "the page may run this script" grep -qF "script-src 'sha256-$(digest script)'" <<< "$policy"
ok "... and this style" grep -qF "style-src 'sha256-$(digest style)'" <<< "$policy"
ok "... and no other" ! grep -q "script-src[^;]*unsafe" <<< "$policy"

# --- phi --------------------------------------------------------------------------------------------------------------

# The window of a real peer, sent back: its models' mean is the window's own.
get '/api/v1/window?peer=a2' | jq '{settings: {interval_ns}, intervals_ns, steps, fixed_ns: 1, models: ["exponential", "normal"]}' > "$WORK/request"
get /api/v1/phi -d "@$WORK/request" > "$WORK/answer"
is "a real window goes through the laboratory" "$(jq -c '[.models[] | [.model, (.phi | length), (.detections | length)]]' "$WORK/answer")" \
	"$(jq -c '(.intervals_ns | length) as $n | [["exponential", $n, 0], ["normal", $n, 0]]' "$WORK/request")"
is "... and a timeout of 1 ns is always breached" "$(jq '.fixed.breaches | length' "$WORK/answer")" "$(jq '.intervals_ns | length' "$WORK/request")"
like "... a bad field is named" "$(jq '.intervals_ns[3] = -1' "$WORK/request" | get /api/v1/phi -d @- | jq -r .error)" '^intervals_ns\[3\]: -1 is out of range'

# --- streams and the daemon -------------------------------------------------------------------------------------------

stream reader
ok "a stream begins with the roster" eventually 5 came reader roster '.peers | length == 4'
ok "... and goes on with frames" eventually 5 came reader frame '.store == true and .stalled == false'
is "... one byte a peer" "$(data reader frame | tail -n 1 | jq -r .cells | base64 -d | wc -c)" 4
is "... of the roster that was told" "$(data reader frame | tail -n 1 | jq .roster)" "$(data reader roster | tail -n 1 | jq .roster)"
ok "... while no daemon lives" came reader frame '.daemon == false'
is "/api/v1/daemon says so" "$(get /api/v1/daemon | jq -c '[.alive, .pid]')" "[false,null]"
start daemon in_ns a kphi run config "$FILE"
ok "a daemon that appears is seen" eventually 10 came reader frame '.daemon == true'
ok "... and describes itself" eventually 5 holds '.alive and ([.consumers[] | [.name, .suspect, .shadow]] == [["page", 8, false], ["shade", 5, true]])' /api/v1/daemon
is "... by its own pid" "$(get /api/v1/daemon | jq .pid)" "$(pid_of daemon)"
stop beata3 KILL
ok "a death is an event of the stream" eventually 10 came reader event '.type == "suspect" and .peer == "a3" and .consumer == "page"'
ok "... and is counted in frames" eventually 5 came reader frame '.suspect == 1'
ok "... and is in the list of events" eventually 5 holds 'any(.type == "suspect" and .peer == "a3")' /api/v1/events
seq=$(get /api/v1/events | jq '[.[] | select(.peer == "a3" and .type == "suspect")][0].seq')
is "... after which there are only later ones" "$(get "/api/v1/events?after=$seq" | jq "map(select(.seq <= $seq)) | length")" 0
is "... and before which it comes itself" "$(get "/api/v1/events?after=$((seq - 1))" | jq '.[0].seq')" "$seq"
ok "lateness is measured" eventually 5 holds '.latency.count > 0 and .lateness.count > 0 and .lateness.p99_ns >= .lateness.p50_ns' /api/v1/daemon
kphi peer add a5 id "$(id_of a5)" interval 50ms > /dev/null
ok "a new peer makes a new roster" eventually 5 came reader roster '.peers | length == 5'
stop reader

# A browser that reconnects says what it has seen last, and gets the rest.
last=$(awk '/^id: / { id = $2 } /"type":"suspect".*"peer":"a3"/ { printf "%.0f\n", id - 1; exit }' "$(log_of reader)")
stream again -H "Last-Event-ID: $last"
ok "what was missed meanwhile is sent again" eventually 5 came again event '.type == "suspect" and .peer == "a3" and .consumer == "page"'
is "... and not what was seen" "$(awk '/^id: / { print $2; exit }' "$(log_of again)")" $((last + 1))
stop again

stop daemon KILL
stream after
ok "a daemon that was killed is missed when its word has run out" eventually 10 came after frame '.daemon == false'
is "... its events are kept" "$(get /api/v1/events | jq 'any(.peer == "a3")')" true
start daemon2 in_ns a kphi run config "$FILE"
ok "... and another one is seen" eventually 10 came after frame '.daemon == true'
ok "... and heard" eventually 10 came after event '.type == "suspect" and .peer == "a3" and .consumer == "page"'
beat a3
ok "... again and again" eventually 10 came after event '.type == "trust" and .peer == "a3"'
in_ns a ip link set eth0 down
ok "a cable that is out blinds the daemon, and the frames say so" eventually 10 came after frame '.blind >= 4 and .suspect == 0'
is "... with a byte of its own" "$(cells a1 1)" 245
in_ns a ip link set eth0 up
ok "... until it is in again" eventually 10 eval '[ "$(data after frame | tail -n 1 | jq .blind)" = 0 ]'
ok "the peer's byte is a phi again" eventually 10 eval '[[ $(cells a3 1) -lt 60 ]]'
stop after

# Thirty-two streams, and no more; each gets frames.
for i in $(seq 32); do
	stream "s$i"
done
ok "thirty-two streams are served" eventually 10 eval 'for i in $(seq 32); do came s$i frame .store || exit 1; done'
is "... the next one is not" "$(status /api/v1/stream)" 503
for i in $(seq 32); do
	stop "s$i"
done
# A curl that is refused ends by itself.
try_again() {
	stream late
	eventually 2 came late frame .store
}
eventually 10 try_again || true
ok "... until the server has seen that another has gone" came late frame .store

# --- the store goes and comes -----------------------------------------------------------------------------------------

stop daemon2
kphi store purge > /dev/null
ok "a store that goes is missed" eventually 5 is_up /healthz 503
ok "... by streams, too" eventually 5 came late frame '.store == false'
is "... and so is who was in it" "$(data late roster | tail -n 1 | jq -c .peers)" "[]"
kphi store create > /dev/null
kphi peer add b1 id "$(id_of a1)" interval 50ms > /dev/null
ok "another one in its place is seen" eventually 5 holds '[.[].name] == ["b1"]' /api/v1/peers
ok "... by streams, too" eventually 5 came late roster '[.peers[].name] == ["b1"]'
is "... whose peers have no past of others, though in their slot" "$(get '/api/v1/history?seconds=3600' | jq -r '.peers[].name')" b1
ok "... not one value of it" eval '[ "$(cells b1 3600 | tr " " "\n" | sort -u | xargs)" = "0 241" ]'
stop late

# --- readers and their pace -------------------------------------------------------------------------------------------

# A daemon of our own, which has a lot to say: 20 MB, more than any socket's buffers hold, but never more at once than is kept
# for a reader whose log shows that he keeps up.
stop web
start chatter python3 -c '
import os, socket, sys, time
path, log = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
client = listener.accept()[0]
client.sendall(b"{\"type\":\"state\",\"seq\":0,\"count\":0}\n")
while not os.path.exists(log):
    time.sleep(0.05)
with open(log, "rb") as reader:
    tail = b""
    for seq in range(1, 20001):
        client.sendall(b"{\"type\":\"stall\",\"seq\":%d,\"detail\":\"%s\"}\n" % (seq, b"x" * 1000))
        while seq % 500 == 0 and b"\"seq\":%d," % seq not in tail:
            time.sleep(0.01)
            tail = tail[-100:] + reader.read()
time.sleep(1000)' "$WORK/chatter.sock" "$WORK/watched.log"
start web in_ns a kphi web serve listen "$AT" socket "$WORK/chatter.sock"
ok "the server again" eventually 10 is_up /healthz 200
stream quick
# Reads the head, then nothing until all is said, then the rest. Says: events, gaps between them, whether it was cut off.
start slow in_ns a python3 -c '
import os, re, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(("127.0.0.1", 7480))
s.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
seen = s.recv(1000)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
s.settimeout(3)
cut = False
try:
    while part := s.recv(65536):
        seen += part
    cut = True
except TimeoutError:
    pass
except ConnectionResetError:
    cut = True
seen = re.sub(rb"\r\n[0-9a-fA-F]+\r\n", b"", seen)  # where chunks meet
seqs = [int(n) for n in re.findall(rb"\"type\":\"stall\",\"seq\":([0-9]+)", seen)]
print(len(seqs), sum(b != a + 1 for a, b in zip(seqs, seqs[1:])), cut, seen.count(b"event: frame"), flush=True)
' "$WORK/said"
ok "both are there" eventually 5 came quick frame .store
sleep 1
ln "$(log_of quick)" "$WORK/watched.log"
ok "who keeps up gets every event" eventually 60 eval '[ "$(data quick event | grep -c stall)" = 20000 ]'
is "... in order" "$(data quick event | jq .seq | awk '$1 != NR' | wc -l)" 0
ok "... and frames as before" eventually 10 eval 'tail -n 3 "$(log_of quick)" | grep -q "^event: frame"'
touch "$WORK/said"
ok "who does not is cut off" eventually 20 grep -q True "$(log_of slow)"
like "... having got what it got without a gap" "$(cat "$(log_of slow)")" '^[0-9]+ 0 True '
between "... which is not all" "$(cut -d' ' -f1 "$(log_of slow)")" 0 18999
stop quick
stop chatter
is "the last thousand are kept" "$(get /api/v1/events | jq -c '[length, .[0].seq, .[-1].seq]')" "[1000,19001,20000]"

# --- where it listens -------------------------------------------------------------------------------------------------

like "an address that is taken is refused with a sentence" \
	"$(in_ns a "$KPHI" --pin "$KPHI_PIN" web serve listen "$AT" socket "$SOCKET" 2>&1 || true)" "$AT: somebody listens there already"
like "... and one that is not ours" \
	"$(in_ns a "$KPHI" --pin "$KPHI_PIN" web serve listen 192.0.2.1:80 2>&1 || true)" "this host does not have that address"
like "... and what is no address" \
	"$(in_ns a "$KPHI" --pin "$KPHI_PIN" web serve listen nonsense 2>&1 || true)" "listen: .*nonsense.*unix:PATH"
stop web
is "SIGTERM: exit status 0" "$stopped" 0
start file in_ns a kphi web serve listen "unix:$WORK/web.sock" socket "$SOCKET"
ok "a Unix socket" eventually 5 curl -sSf --unix-socket "$WORK/web.sock" http://localhost/healthz
is "... for its group only" "$(stat -c '%a %u' "$WORK/web.sock")" "660 0"
stop file
ok "... goes with the server" ! test -e "$WORK/web.sock"
start six in_ns a kphi web serve listen "[::1]:7481" socket "$SOCKET" per_peer none
ok "IPv6" eventually 5 in_ns a curl -sSf "http://[::1]:7481/healthz"
is "... without series of peers, if so said" "$(in_ns a curl -sS "http://[::1]:7481/metrics" | grep -c '^kphi_peer_phi{')" 0
stop six

# By a socket that somebody else has opened, as systemd does it.
start activated in_ns a python3 -c '
import os, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 7482))
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])' "$KPHI" --pin "$KPHI_PIN" web serve listen systemd socket "$SOCKET"
ok "socket activation" eventually 5 in_ns a curl -sSf http://127.0.0.1:7482/healthz
stop activated
like "... which needs a socket" "$("$KPHI" web serve listen systemd 2>&1 || true)" "handed over no listening stream socket"
