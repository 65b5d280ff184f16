#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The page of `kphi trace calibrate FILE html OUT`, in a real browser: that every curve is drawn, that it is silent on the
# console and the network, that names are text, that it fits a phone and obeys the keyboard. What it looks like is left in
# build/tests/report-*.png for whoever wants to see.

. "$(dirname "$0")/../net/lib.sh"

peer chromium
SOUND_LIB=$(dirname "$(find "$PEER/usr/lib" -name "libpulsecommon-*" -print -quit)")
cd "$WORK"
SHOTS=$ROOT/build/tests
ns_add quiet # without a way out: a browser calls home whatever it is told

# chromium OUT OPTION...: standard output to OUT, what it logs to OUT.log, what it did on the network to OUT.net
chromium() {
	local room

	room=$(mktemp -d)
	in_ns quiet env LD_LIBRARY_PATH="$PEER_LIB:$SOUND_LIB" HOME="$room" timeout -k 5 120 "$PEER/usr/lib/chromium/chromium" --headless --no-sandbox \
		--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync \
		--disable-dev-shm-usage --user-data-dir="$room" --enable-logging=stderr --log-net-log="$WORK/$1.net" \
		--virtual-time-budget=10000 "${@:2}" > "$1" 2> "$1.log"
	rm -rf "$room"
}

# complaints LOG: what reached the console; the browser's own pages have one, too
complaints() {
	grep CONSOLE "$1" | grep -v 'source: chrome://' || true
}

# requested NETLOG: what a page has asked of anybody but the file system. What has no page for an origin is the browser's own.
requested() {
	grep -E '"initiator":"(null|file)' "$1" | grep -oE '"url":"[^"]*"' | grep -vE '"(file|data):' | sort -u
}

# asked DOM: the words that a script of the test has left in it
asked() {
	grep -oE "data-$2=\"[^\"]*\"" "$1" | head -n 1 | cut -d '"' -f 2
}

# --- a trace with everything in it: losses, pauses, a name of markup, stalls

awk 'BEGIN {
	srand(7)
	print "peer,arrival_ns,sequence"
	for (i = 0; i < 12000; i++) {
		if (i % 500 == 499) late += 4e8
		at = 1e9 + i * 1e8
		printf "clean,%.0f,%d\n", at + rand() * 2e6, i
		printf "gc,%.0f,%d\n", at + late + rand() * 4e6, i
		if (rand() > 0.02) printf "<b>x</b>,%.0f,%d\n", at + rand() * 9e6, i
	}
}' | sort -t, -k2,2n > mixed.csv
kphi trace convert mixed.csv smooth.trace from csv to trace interval 100ms > /dev/null
"$TOOLS/stall-trace" smooth.trace mixed.trace 100s 700ms

kphi -j trace calibrate mixed.trace consumer '</script><i>y</i>' max-detect 900ms consumer pager max-false 1/day html page.html > said 2> warned
got=0
kphi trace calibrate mixed.trace html page.html > /dev/null 2> why || got=$?
is "a page that is there is left alone" "$got $(cat why)" "1 Error: html: page.html: cannot be written: File exists. Remove it, or choose another name"
got=0
kphi trace calibrate mixed.csv html none.html > /dev/null 2> why || got=$?
ok "no trace, no page" test "$got" = 1 -a ! -e none.html

# --- as a person gets it

chromium dom --dump-dom "file://$WORK/page.html"
is "it has drawn all of itself" "$(grep -c 'data-drawn="yes"' dom)" 1
is "the console is silent" "$(complaints dom.log)" ""
is "nothing is requested" "$(requested dom.net)" ""
is "no address of anybody is in it" "$(grep -cE '(src|href|action|poster)="?(https?:)?//' page.html)" 0

jq -r '.choices[] | .model // .detector' said | sort -u > rivals
between "models and yardsticks" "$(wc -l < rivals)" 12 40
grep -oE 'id="tradeoff".*id="histogram"' dom > tradeoff || tr '\n' ' ' < dom | grep -oE 'id="tradeoff".*id="histogram"' > tradeoff
grep -oE '<g data-series="[^"]*"[^>]*><path [^>]*d="M[^"]+L' tradeoff | cut -d '"' -f 2 | sort -u > drawn
is "each has its curve" "$(comm -23 rivals drawn | tr '\n' ' ')" ""
is "and its switch" "$(grep -oE 'aria-pressed="true"' tradeoff | wc -l)" "$(wc -l < drawn)"
is "the chosen settings are marked" "$(grep -oE 'data-mark="pager"' dom | wc -l)" 1
is "as many figures as tables of them" "$(grep -oE '<svg [^>]*role="img"' dom | wc -l) $(grep -oE '<summary>As a table' dom | wc -l)" "5 5"
is "a bar for each stall" "$(tr '\n' ' ' < dom | grep -oE '<g data-series="longest stall".*' | grep -oE ' d="[^"]*"' | head -n 1 | grep -o M | wc -l)" 12
for model in $(jq -r '.choices[].model // empty' said | sort -u); do
	ok "the histogram has $model" grep -qE "data-series=\"$model\"" <(tr '\n' ' ' < dom | grep -oE 'id="histogram".*id="quantiles"')
	ok "so have the quantiles" grep -qE "data-series=\"$model\"" <(tr '\n' ' ' < dom | grep -oE 'id="quantiles".*id="reliability"')
done
is "peers can be looked at one by one, at both figures" "$(grep -oE '<option' dom | wc -l)" 8
is "a name of markup is a name, in the table and where one is chosen" "$(grep -c '&lt;b&gt;x&lt;/b&gt;' dom) $(grep -cE '<(b|i)>' dom)" "3 0"
like "so is a consumer's" "$(cat dom)" '&lt;/script&gt;&lt;i&gt;y'
is "the YAML is the one of the text" "$(grep -oE '    suspect: [0-9.]+' dom | head -n 2)" "$(jq -r .yaml said | grep -oE '    suspect: [0-9.]+')"

# --- the witnesses: what would complain is heard, what would call is seen

printf '<script>nonsense()</script><img src="http://192.0.2.1/pixel.png">' > loud.html
chromium loud --dump-dom "file://$WORK/loud.html"
like "a console that is not silent is heard" "$(complaints loud.log)" "nonsense is not defined"
like "a request is seen" "$(requested loud.net)" "192.0.2.1"
# The page itself would not let anything out.
sed 's|<main>|<main><img src="http://192.0.2.1/pixel.png">|' page.html > spoilt.html
chromium spoilt --dump-dom "file://$WORK/spoilt.html"
is "what somebody smuggles in is not fetched" "$(requested spoilt.net)" ""
like "but refused" "$(complaints spoilt.log)" "Content Security Policy"

# --- keys, a phone, the dark

cat > ask.html << 'END'
<script>
const root = document.documentElement, figure = document.querySelector('#tradeoff svg');
const press = (key) => document.querySelector('#tradeoff svg').dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
root.dataset.wide = root.scrollWidth <= innerWidth ? 'fits' : root.scrollWidth + ' in ' + innerWidth;
root.dataset.room = innerWidth;
root.dataset.paper = getComputedStyle(document.body).backgroundColor;
figure.focus();
press('ArrowRight'); press('ArrowRight'); press('ArrowDown');
root.dataset.told = document.querySelector('#tradeoff-said').textContent;
root.dataset.focus = document.activeElement.tagName;
const curves = () => document.querySelectorAll('#tradeoff g[data-series]').length, before = curves();
document.querySelector('#tradeoff .legend button').click();
root.dataset.fewer = before - curves();
parent.postMessage({...root.dataset}, '*');
</script>
END
sed -e '/<\/body>/{r ask.html' -e 'N}' page.html > asked.html
chromium wide --dump-dom --window-size=1280,900 "file://$WORK/asked.html"
# A window is no narrower than 500 pixels; a frame is.
echo '<script>onmessage = (e) => Object.assign(document.body.dataset, e.data)</script><iframe src="asked.html" width="390" height="844" frameborder="0">' \
	> frame.html
chromium narrow --dump-dom "file://$WORK/frame.html"
chromium dark --dump-dom --blink-settings=preferredColorScheme=0 "file://$WORK/asked.html"
is "no console is needed to ask" "$(complaints wide.log)" ""
is "it fits 1280 pixels" "$(asked wide wide) $(asked wide room)" "fits 1280"
is "and 390" "$(asked narrow wide) $(asked narrow room)" "fits 390"
like "arrow keys walk along a curve" "$(asked wide told)" "^bfd: detect multiplier [0-9]+: .* a peer and day"
is "and the figure keeps the focus" "$(asked wide focus)" svg
is "a switch takes a curve away" "$(asked wide fewer)" 1
is "light by day, dark by night" "$(asked wide paper) $(asked dark paper)" "rgb(255, 255, 255) rgb(20, 24, 29)"

# --- the tail, where it is known: intervals of one peer are normally distributed, those of the other exponentially

awk 'BEGIN {
	srand(11)
	print "peer,arrival_ns,sequence"
	for (i = 0; i < 20000; i++) {
		bell += 1e8 + 15e6 * sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
		memoryless -= 1e8 * log(1 - rand())
		printf "bell,%.0f,%d\nmemoryless,%.0f,%d\n", 1e9 + bell, i, 1e9 + memoryless, i
	}
}' | sort -t, -k2,2n > known.csv
kphi trace convert known.csv known.trace from csv to trace interval 100ms > /dev/null
kphi trace calibrate known.trace html known.html > /dev/null

# What is drawn is measured: how far, in pixels, the marks of each series are from the dotted line at most, up to one in 1,000:
# beyond that, chance decides.
cat > measure.html << 'END'
<script>
const numbers = (d) => d.match(/[-\d.]+,[-\d.]+/g).map((p) => p.split(',').map(Number));

function off(name) {
	const svg = document.querySelector('#quantiles svg'), g = svg.querySelector(`g[data-series="${name}"]`);
	const [[x1, y1], [x2, y2]] = numbers(svg.querySelector('.limit').getAttribute('d'));
	const end = Number(svg.querySelector('[data-tick="1 in 1000"]').getAttribute('y'));
	const marks = [...g.querySelectorAll('path[transform]')].map((m) => numbers(m.getAttribute('transform'))[0]).filter(([, y]) => y >= end);

	return Math.round(Math.max(...marks.map(([x, y]) => Math.abs((x2 - x1) * (y1 - y) - (x1 - x) * (y2 - y1)) / Math.hypot(x2 - x1, y2 - y1))));
}

const select = document.querySelectorAll('.pick select')[1];
const ticks = () => [...document.querySelectorAll('#quantiles [data-tick]')];

const say = (name, value) => document.documentElement.setAttribute('data-' + name, value);

for (const option of [...select.options].filter((o) => o.value !== '0')) {
	const peer = option.textContent;

	select.value = option.value;
	select.dispatchEvent(new Event('change'));
	say(peer + '-normal', off('normal'));
	say(peer + '-exponential', off('exponential'));
	say(peer + '-ticks', ticks().map((t) => t.textContent).join(' '));
	say(peer + '-falls', ticks().every((t, i, all) => !i || t.getAttribute('y') - all[i - 1].getAttribute('y') >= 14));
	say(peer + '-other', document.querySelector('.pick select').value === option.value &&
		document.querySelector('#histogram svg').getAttribute('aria-label').endsWith(' of ' + peer));
}
</script>
END
sed -e '/<\/body>/{r measure.html' -e 'N}' known.html > measured.html
chromium measured --dump-dom --window-size=1280,900 "file://$WORK/measured.html"
is "nothing fails while it is measured" "$(complaints measured.log)" ""
between "normal intervals lie on the line by the normal model" "$(asked measured bell-normal)" 0 25
between "and far off by the exponential one" "$(asked measured bell-exponential)" 150 9000
between "exponential intervals lie on the line by the exponential model" "$(asked measured memoryless-exponential)" 0 25
between "and far off by the normal one" "$(asked measured memoryless-normal)" 60 2000
is "the tail has its decades" "$(asked measured bell-ticks)" "1 in 10⁴ 1 in 1000 1 in 100 1 in 10"
is "one below the other" "$(asked measured bell-falls) $(asked measured memoryless-falls)" "true true"
is "the histogram shows the same peer" "$(asked measured bell-other) $(asked measured memoryless-other)" "true true"

# --- pictures

# colours PNG WIDTH: how many different rows of pixels it has, if it is so wide
colours() {
	python3 "$ROOT/tests/net/picture.py" "$@"
}

for width in 1280 390; do
	chromium shot --hide-scrollbars --window-size=$width,4400 --screenshot="$SHOTS/report-$width.png" "file://$WORK/page.html"
	between "a picture $width pixels wide" "$(colours "$SHOTS/report-$width.png" $width)" 500 4400
done
chromium shot --hide-scrollbars --window-size=1280,4400 --screenshot="$SHOTS/report-known.png" "file://$WORK/known.html"
between "and one of the known tails" "$(colours "$SHOTS/report-known.png" 1280)" 500 4400
