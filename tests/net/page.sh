#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The page and the lab in a real browser, over a real daemon with real senders: one dies, this host stalls, all are frozen;
# keys, names of markup, what reaches the console and the network; the stream is lost and comes back, the daemon goes. What it
# looks like is left in build/tests/page-*.png.

. "$(dirname "$0")/pair.bash"
. "$(dirname "$0")/browser.bash"

SHOTS=$ROOT/build/tests
SOCKET=$WORK/event.sock
ORIGIN=http://127.0.0.1:7480
PEERS=(db1 db2 db3 web1 web2 '<b>x</b>' 'cache/1&2' queue)
HOSTS=(rack-a rack-b rack-a rack-b rack-a rack-b rack-a rack-b)

# --- the house ------------------------------------------------------------------------------------------------------------

write_file() {
	local n

	echo "devices: [{name: eth0}]"
	echo "outputs: {socket: $SOCKET}"
	echo "state: $WORK/state"
	echo "peers:"
	for n in "${!PEERS[@]}"; do
		echo "  - {name: '${PEERS[n]}', id: $(uuid "$n"), interval: 100ms, pause: 500ms, host: ${HOSTS[n]}}"
	done
	echo "consumers: [{name: page, suspect: 8, clear: 4}]"
}

serve() {
	start web in_ns b kphi web serve listen "${ORIGIN#http://}" socket "$SOCKET"
	eventually 10 in_ns b bash -c ": < /dev/tcp/127.0.0.1/${ORIGIN##*:}"
}

all_senders() { # SIGNAL
	local n

	for n in "${!PEERS[@]}"; do
		! running "beat$n" || kill "-$1" "$(pid_of "beat$n")"
	done
}

# beats N: all that still run have so many
beats() {
	local n

	for n in "${!PEERS[@]}"; do
		! running "beat$n" || [ "$(peer_field "${PEERS[n]}" beats)" -ge "$1" ] || return 1
	done
}

# dead: whose sender does not run, as JavaScript sorts and joins them
dead() {
	local n

	for n in "${!PEERS[@]}"; do
		running "beat$n" || echo "${PEERS[n]}"
	done | sort | paste -sd,
}

events() { # FILTER
	jq -cR "fromjson? | select(.type) | select($1)" < "$(log_of run)"
}

has() { # COUNT FILTER
	[ "$(events "$2" | wc -l)" -ge "$1" ]
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
# Ahead of other processes: on a busy machine, a sender that waits for its turn would be a silence that nobody asked for.
for n in "${!PEERS[@]}"; do
	start "beat$n" in_ns a chrt -f 20 "$KPHI" beat to 10.0.0.2 id "$(uuid "$n")" state "$WORK/state-$n" interval 100ms
done
write_file > "$WORK/kphi.yaml"
start run in_ns b kphi run config "$WORK/kphi.yaml"
eventually 10 kphi event socket "$SOCKET"
serve
ok "all are heard" eventually 20 beats 30
browser_begin b

# --- opened -----------------------------------------------------------------------------------------------------------------

browser size 1280 900
browser dark
browser open http://127.0.0.1:7441/
ok "the daemon itself serves the page" eventually 20 holds "document.documentElement.dataset.live === 'yes'"
browser open "$ORIGIN/"
ok "it is live" eventually 10 holds "document.documentElement.dataset.live === 'yes' && past.peers().length === ${#PEERS[@]}"
ok "and says that all is well" eventually 10 holds "byId('verdict').textContent === 'All ${#PEERS[@]} peers are up.'"
is "a row for each peer" "$(says '$$("#table tbody tr[data-name]:not([hidden])").length')" "${#PEERS[@]}"
is "a name of markup is text" \
	"$(says '[$$("main b *, #table b").length, $$("#table .c-name").some((c) => c.textContent === "<b>x</b>")]')" "0,true"
ok "a name in an address survives it" \
	holds 'detail.open("cache/1&2"), decodeURIComponent($("#detail a").hash) === "#peer=cache/1&2"'
says 'detail.open(null)' > /dev/null

is "the daemon is there, and so says nobody that it is not" "$(says 'byId("banners").textContent')" ""

# --- a death ----------------------------------------------------------------------------------------------------------------

# How to read what is on the screen: a line of the heat map's pixels, from a copy, lest the page's own canvas is slowed down.
reader='(() => {
	const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
	globalThis.pixels = (row, x, width) => {
		const g = heat.geometry(), y = Math.floor(heat.yOf(row + 0.5) * g.dpr - g.gap / 2);
		copy.canvas.width = width;
		copy.drawImage(byId("cells"), x, y, width, 1, 0, 0, width, 1);
		const line = copy.getImageData(0, 0, width, 1).data;
		return Array.from({length: width}, (_, i) => [...line.slice(4 * i, 4 * i + 3)]);
	};
	return true;
})()'

# The first moment at which a row's present has a colour of suspicion, with the name of that row.
watch='(() => {
	const suspicion = new Set();
	for (let cell = PHI_FIRST + SUSPECT_PHI * 8; cell <= PHI_LAST; cell++)
		suspicion.add(phiColour(cellPhi(cell), theme.isDark()).join());
	globalThis.lit = {};
	(function look() {
		rows.order().forEach((i, row) => {
			const name = past.peers()[i].name;
			if (!lit[name] && suspicion.has(pixels(row, heat.geometry().width - 1, 1)[0].join()))
				lit[name] = Date.now();
		});
		requestAnimationFrame(look);
	})();
	return true;
})()'
# kill N: a peer dies; how long after its `suspect` event its row was lit, in milliseconds
kill_peer() {
	local name=${PEERS[$1]}

	stop "beat$1" KILL
	ok "the death of $name is found" eventually 10 has 1 ".type == \"suspect\" and .peer == \"$name\""
	ok "its row is lit" eventually 10 holds "lit['$name'] > 0"
	late_ms=$(events ".type == \"suspect\" and .peer == \"$name\"" | tail -n 1 | jq -r .time)
	late_ms=$(($(says "lit['$name']") - $(date -d "$late_ms" +%s%3N)))
	note "$name: lit $late_ms ms after the verdict"
}

says "$reader" > /dev/null
says "$watch" > /dev/null
sleep 1
is "no row is lit before" "$(says 'Object.keys(lit).length')" 0
kill_peer 1
# On a busy machine the browser itself may be late; the page is not, if it ever is in time.
for n in 4 7; do
	[ "$late_ms" -le 1000 ] || kill_peer "$n"
done
between "within a second of the verdict (ms)" "$late_ms" -1000 1000
is "only that of the dead" "$(says 'Object.keys(lit).sort().join()')" "$(dead)"
like "in one sentence" "$(says 'byId("verdict").textContent')" "db2.* suspect"
is "its row is the first" "$(says 'past.peers()[rows.order()[0]].name')" db2
ok "its event is told" \
	eventually 5 holds '$$(".event[data-type=suspect]").some((e) => e.textContent.includes("db2"))'
ok "the table has it, too" \
	eventually 5 holds "\$('#table tr[data-name=db2] .c-state').textContent === 'suspect'"
browser shot "$SHOTS/page-death.png"

# --- this host stalls, for real -----------------------------------------------------------------------------------------------

# Of each row, whether the hatch of a stall is on the screen since a moment, CLOCK_MONOTONIC in seconds.
hatched='rows.order().map((_, row) => {
	const g = heat.geometry(), from = Math.max(0, Math.ceil(heat.xOf(since) * g.dpr));
	return pixels(row, from, g.width - from).some((rgb) => rgb.join() === STALL.dark.join());
})'

# calm: for a second, nobody else stalls this machine
calm() {
	says 'globalThis.since = past.newest() + 1' > /dev/null
	sleep 2
	[ "$(says "$hatched.some(Boolean)")" = false ]
}

browser key 1
ok "no row is hatched before" eventually 30 calm
"$TOOLS/stall" 2000
ok "every row shows that this host was stalled" eventually 10 holds "$hatched.every(Boolean)"
is "nobody is lit for it" "$(says 'Object.keys(lit).sort().join()')" "$(dead)"
ok "and its observer says so" eventually 10 holds "/stalled 2\\.?[0-9]* s/.test(byId('guard').textContent)"

# All are silent after a stall, so all would be suspect: held.
all_senders STOP
"$TOOLS/stall" 2500
held='past.peers().every((p, i) => rows.state(i) === "suspect" ||
	[0, 1, 2, 3, 4, 5].some((s) => past.cell(past.newest() - s, i) === HELD))'
ok "every living row shows the hold" eventually 20 holds "$held"
ok "and it is told" \
	eventually 10 holds "/held/.test(byId('verdict').textContent) && Number(\$('#states button[value=held] b').textContent) > 0"
browser shot "$SHOTS/page-held.png"
all_senders CONT
ok "they are up again" eventually 20 holds "Number(\$('#states button[value=held] b').textContent) === 0"

# --- by hand -----------------------------------------------------------------------------------------------------------------

browser key Escape / d b
is "/ goes to the filter, and it filters" \
	"$(says '[document.activeElement.id, rows.order().length, $$("#table tbody tr[data-name]:not([hidden])").length]')" filter,3,3
browser key Escape
is "Escape clears it" \
	"$(says '[document.activeElement === document.body, byId("filter").value, rows.order().length]')" "true,,${#PEERS[@]}"
browser key s
is "s sorts by name" "$(says '[view.sort, rows.order().map((i) => past.peers()[i].name).slice(-2)]')" name,web1,web2
browser key s
is "by host" "$(says '[view.sort, rows.order().map((i) => past.peers()[i].host).join()]')" \
	"host,rack-a,rack-a,rack-a,rack-a,rack-b,rack-b,rack-b,rack-b"
browser key s p
is "p pauses" "$(says '[view.sort, view.paused, byId("pause").getAttribute("aria-pressed")]')" worst,true,true
says 'globalThis.edge = heat.columnAt(heat.geometry().plot)' > /dev/null
sleep 2.5
is "time stands" "$(says 'heat.columnAt(heat.geometry().plot) - edge')" 0
browser key p
ok "and goes on" eventually 5 holds 'heat.columnAt(heat.geometry().plot) > edge'
browser key '?'
is "? helps" "$(says 'byId("help").open')" true
browser key Escape
is "until Escape" "$(says 'byId("help").open')" false
browser click '#table thead .c-name button'
is "a head sorts the table" \
	"$(says '[$("#table .c-name").getAttribute("aria-sort"), $("#table tbody tr[data-name]").dataset.name]')" "ascending,<b>x</b>"
browser click '#table thead .c-name button'
is "and the other way round" "$(says '$("#table tbody tr[data-name]").dataset.name')" web2
says 'byId("table").focus()' > /dev/null
browser key ArrowDown ArrowDown Enter
is "arrows and Enter open a peer" \
	"$(says '[byId("table").getAttribute("aria-activedescendant"), $("#detail b").textContent, byId("detail").hidden]')" row-1,web1,false
says 'detail.open(null); byId("heat").focus()' > /dev/null
browser key Home ArrowDown ArrowLeft
like "in the heat map they say who, when and what" "$(says 'byId("heat-said").textContent')" \
	"on rack-., 20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{2}:[0-9]{2}, (phi [0-9.]+, normal|held|nobody looked)"
says 'document.activeElement.blur(); scrollTo(0, 0)' > /dev/null
browser click '#states button[value=suspect]'
is "a press on the legend shows those alone" \
	"$(says 'rows.order().every((i) => rows.state(i) === "suspect") && rows.order().length > 0')" true
browser click '#states button[value=suspect]'

is "the console is silent" "$(browser console)" ""
is "nothing is asked of anybody else" "$(strangers "$ORIGIN")" ""
between "but of its own server, often" "$(browser requests | grep -cF "$ORIGIN/api/v1/")" 10 100000

# --- sizes and colours --------------------------------------------------------------------------------------------------------

is "dark by night" "$(says 'getComputedStyle(document.body).backgroundColor')" "rgb(20, 24, 29)"
browser key 2
browser shot "$SHOTS/page-dark.png"
browser light
is "light by day" "$(says 'getComputedStyle(document.body).backgroundColor')" "rgb(255, 255, 255)"
sleep 0.5
browser shot "$SHOTS/page-light.png"
browser key t t
is "and by the switch as the reader has it" \
	"$(says '[document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]')" "dark,rgb(20, 24, 29)"
browser key t
browser size 360 740 2
is "it fits a phone" "$(says '[document.documentElement.scrollWidth, innerWidth]')" 360,360
sleep 0.5
browser all "$SHOTS/page-phone.png"
browser size 1280 900
for shot in death held dark light phone; do
	between "a picture of it: $shot" "$(colours "$SHOTS/page-$shot.png")" 100 100000
done

# --- the lab ------------------------------------------------------------------------------------------------------------------

# score DETECTOR COLUMN: of the table
score() {
	says "\$('#counts tr[data-detector=$1]').children[$2].textContent"
}

browser dark
browser open "$ORIGIN/lab#w=steady&timeout=250&phi=8&pause=6@300&seed=1"
ok "it draws" eventually 10 holds 'Number(document.documentElement.dataset.drawn) > 0'
is "a row for the timeout and one for each model" "$(says '$$("#counts tbody tr").map((r) => r.dataset.detector)')" \
	fixed,normal,akka,exponential,loss,empirical
like "a pause of six means is found" "$(score normal 3)" "after"
is "but not by all at this threshold" "$(score exponential 3)" missed
is "without a false alarm" "$(score normal 2)" 0
browser open "$ORIGIN/lab#w=gc&timeout=250&phi=8&pause=0@300&seed=1"
ok "it draws the collector" eventually 10 holds 'Number(document.documentElement.dataset.drawn) > 0'
like "a timeout below its pauses is wrong" "$(score fixed 2)" " [1-9][0-9]*$"
is "the normal model is not" "$(score normal 2)" 0
is "what was not injected is not found" "$(score normal 3)" "none injected"
before=$(says 'location.hash')
browser click '#inject'
ok "the button injects one" \
	eventually 5 holds "location.hash !== '$before' && /pause=6@300/.test(location.hash) && \$('#counts tr').children.length > 0"
ok "which the table has" \
	eventually 5 holds "\$('#counts tr[data-detector=fixed]').children[3].textContent.includes('after')"
says 'globalThis.bars = plot.barAt(9e9), byId("loss").value = 10, byId("loss").dispatchEvent(new Event("input"))' > /dev/null
ok "loss makes intervals longer and fewer" \
	eventually 5 holds '/loss=10/.test(location.hash) && Number($("#counts tr[data-detector=fixed]").children[1].textContent) < 385'
shared=$(says 'location.href')
said=$(says 'byId("counts").textContent')
browser open "$shared"
ok "another reader of the same address" eventually 10 holds 'Number(document.documentElement.dataset.drawn) > 0'
is "sees the same" "$(says 'byId("counts").textContent')" "$said"
browser open "$ORIGIN/lab#peer=$(jq -rn --arg n "${PEERS[5]}" '$n | @uri')"
ok "a live peer's window" eventually 10 holds 'Number(document.documentElement.dataset.drawn) > 0'
is "is the one chosen, by its name as text" \
	"$(says '[byId("source").selectedOptions[0].textContent, $$("main section b *").length]')" '<b>x</b>,0'
# When a death now would be told, by the lab and by `peer show`: the same but for the beats that came in between.
lab_ms=$(score normal 4)
own_ms=$(kphi -j peer show | jq '.[] | select(.name == "<b>x</b>") | (.silence_ns + .suspect_in_ns) / 1e6')
between "phi is the daemon's: what reaches 8 there, in what it says" "$(jq -n "$own_ms / ${lab_ms% ms}")" 0.9 1.1
is "lab: the console is silent" "$(browser console)" ""
is "lab: nothing is asked of anybody else" "$(strangers "$ORIGIN")" ""
ok "lab: phi is asked for" grep -qF "$ORIGIN/api/v1/phi" <(browser requests)
browser open "$ORIGIN/lab#w=jittery&timeout=220&phi=6&pause=6@300&jitter=60&seed=1"
ok "a picture is drawn" eventually 10 holds 'Number(document.documentElement.dataset.drawn) > 0'
browser all "$SHOTS/page-lab.png"
browser size 360 740 2
is "lab: it fits a phone" "$(says '[document.documentElement.scrollWidth, innerWidth]')" 360,360
browser size 1280 900
between "a picture of it: lab" "$(colours "$SHOTS/page-lab.png")" 100 100000

# --- witnesses: what would complain is heard, who would call is seen ------------------------------------------------------------

browser open 'data:text/html,<script>nonsense()</script><img src="http://192.0.2.1/pixel.png">'
like "a console that is not silent is heard" "$(browser console)" "nonsense is not defined"
like "a request is seen" "$(strangers "$ORIGIN")" "192.0.2.1"

# --- what is lost is said -------------------------------------------------------------------------------------------------------

browser open "$ORIGIN/"
ok "live once more" eventually 10 holds "document.documentElement.dataset.live === 'yes'"
stop run
ok "a daemon that is gone is missed" eventually 10 holds "/No .kphi run. watches/.test(byId('banners').textContent)"
stop web
ok "a lost stream is said, and since when" \
	eventually 10 holds "/since [0-9:]{8}/.test(byId('live').textContent) && /Nothing has come/.test(byId('banners').textContent)"
is "what is shown is grey then" "$(says 'getComputedStyle(byId("cells")).filter')" "grayscale(1)"
edge=$(says 'heat.columnAt(heat.geometry().plot)')
sleep 2.5
between "and stands still" "$(($(says 'heat.columnAt(heat.geometry().plot)') - edge))" 0 2
serve
ok "it comes back by itself" \
	eventually 30 holds "document.documentElement.dataset.live === 'yes' && !/Nothing has come/.test(byId('banners').textContent)"
