#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tools/impair does what it says, no more, and the same each time: other tests rely on its arithmetic.

. "$(dirname "$0")/lib.sh"

PORT=7441
WIRE=(python3 "$ROOT/tests/net/udp.py")

ns_add a
ns_add relay
ns_add b
veth_pair a eth0 10.0.0.1/24 relay left -
veth_pair relay right - b eth0 10.0.0.2/24

# On one CPU: whoever is moved to another in the middle of a flood overtakes itself in the cable's queues.
ONE_CPU=(taskset -c 0)

# cable WORD...: relays with these impairments from now on
cable() {
	! running cable || stop cable
	start cable in_ns relay "${ONE_CPU[@]}" "$TOOLS/impair" left left right right "$@"
	eventually 5 grep -q relaying "$(log_of cable)"
}

# unplug: ends the relay; its counts are in $WORK/counts
unplug() {
	stop cable
	tail -n 1 "$(log_of cable)" > "$WORK/counts"
}

# count WAY NAME: from the last relay's counts
count() {
	jq ".$1.$2" "$WORK/counts"
}

# traffic FILE N GAP_MS [PORT [ADDRESS]]: N datagrams from a to b; FILE gets a line `number latency_us` for each that came
traffic() {
	local address=${5:-10.0.0.2} port=${4:-$PORT}

	start receiver in_ns b "${WIRE[@]}" receive "$address" "$port"
	eventually 5 listening "$port"
	in_ns a "${ONE_CPU[@]}" "${WIRE[@]}" send "$address" "$port" "$2" "$3"
	stop receiver
	cp "$(log_of receiver)" "$1"
}

listening() {
	in_ns b ss -Hlun "sport = :$1" | grep -q .
}

# lines FILE, distinct FILE, descents FILE: how many came, how many different ones, how many behind a later one
lines() {
	wc -l < "$1"
}

distinct() {
	cut -d ' ' -f 1 "$1" | sort -u | wc -l
}

descents() {
	awk '$1 < highest { n++ } $1 > highest { highest = $1 } END { print n + 0 }' "$1"
}

numbers() {
	cut -d ' ' -f 1 "$1"
}

# latency FILE QUANTILE: in ms
latency() {
	cut -d ' ' -f 2 "$1" | sort -n | awk -v q="$2" '{ v[NR] = $1 } END { print v[1 + int((NR - 1) * q)] / 1000 }'
}

nothing_asked() {
	cable
	traffic "$WORK/v4" 1000 0
	traffic "$WORK/v6" 100 0 $PORT "$(v6 10.0.0.2)"
	ok "TCP passes, segmentation offload and all" tcp_works
	unplug
	is "without impairment all datagrams arrive" "$(lines "$WORK/v4")" 1000
	is "each once" "$(distinct "$WORK/v4")" 1000
	is "in order" "$(descents "$WORK/v4")" 0
	is "IPv6 as well" "$(lines "$WORK/v6")" 100
	is "nothing is counted as impaired" "$(jq -c '[.rightward, .leftward | .lost, .duplicated, .corrupted, .held_back,
		.reordered, .refused, .overrun, .unsent] | add' "$WORK/counts")" 0
	is "every frame received is forwarded" "$(count rightward received)" "$(count rightward forwarded)"
	between "and there were some both ways" "$(count leftward forwarded)" 10 100000
}

tcp_works() {
	in_ns b "${WIRE[@]}" serve 10.0.0.2 7000 &
	eventually 5 in_ns b sh -c 'ss -Hltn | grep -q :7000'
	[ "$(in_ns a "${WIRE[@]}" fetch 10.0.0.2 7000)" = 1000000 ] && wait $!
}

loss() {
	cable only-port $PORT loss 10% seed 7
	traffic "$WORK/first" 2000 0
	unplug
	# Five standard deviations of a binomial (2000, 0.1).
	between "10 % of 2000 are lost" "$(count rightward lost)" 133 267
	is "what is counted as lost did not arrive" "$((2000 - $(lines "$WORK/first")))" "$(count rightward lost)"
	is "the filter took just the datagrams" "$(count rightward matched)" 2000

	cable only-port $PORT loss 10% seed 7
	traffic "$WORK/second" 2000 0
	cable only-port $PORT loss 10% seed 8
	traffic "$WORK/third" 2000 0
	ok "the same seed loses the same ones" cmp <(numbers "$WORK/first") <(numbers "$WORK/second")
	ok "another seed loses others" ! cmp <(numbers "$WORK/first") <(numbers "$WORK/third")
}

bursts() {
	cable only-port $PORT burst-enter 1% burst-leave 20% seed 3
	traffic "$WORK/bursts" 3000 0
	unplug
	# A share of 1 / (1 + 20) in bursts of 5 on average: the runs are what tells it from independent loss.
	between "bursts lose about one in 21" "$(count rightward lost)" 50 250
	between "several in a row" "$(awk '{ gap = $1 - last - 1; if (gap > most) most = gap; last = $1 } END { print most }' \
		"$WORK/bursts")" 5 100
}

duplicates() {
	cable only-port $PORT duplicate 10% seed 5
	traffic "$WORK/twice" 1000 0
	unplug
	is "no datagram is missing" "$(distinct "$WORK/twice")" 1000
	between "10 % of 1000 come twice" "$(count rightward duplicated)" 52 148
	is "just as many as counted" "$(($(lines "$WORK/twice") - 1000))" "$(count rightward duplicated)"
}

delay() {
	cable only-port $PORT delay 20ms
	traffic "$WORK/late" 200 1
	cable only-port $PORT delay 20ms jitter 10ms
	traffic "$WORK/jitter" 500 1
	is "a delay loses nothing" "$(lines "$WORK/late")" 200
	between "the quickest comes after the delay" "$(latency "$WORK/late" 0)" 20 24
	between "and so does the middle one" "$(latency "$WORK/late" 0.5)" 20 30
	between "jitter spreads" "$(latency "$WORK/jitter" 0.9)" 26 40
	is "and keeps the order" "$(descents "$WORK/jitter")" 0
}

reordering() {
	cable only-port $PORT reorder 5% hold 5ms seed 2
	traffic "$WORK/reordered" 1000 0.3
	unplug
	is "reordering loses nothing" "$(distinct "$WORK/reordered")" 1000
	between "5 % of 1000 are held back" "$(count rightward held_back)" 16 84
	is "what is counted as reordered came behind a later one" "$(descents "$WORK/reordered")" \
		"$(count rightward reordered)"
	between "which most of those held back did" "$(count rightward reordered)" 10 84
}

corruption() {
	cable only-port $PORT corrupt 100%
	traffic "$WORK/corrupt" 100 0
	unplug
	is "all of 100 are corrupted" "$(count rightward corrupted)" 100
	is "and forwarded" "$(count rightward forwarded)" "$(count rightward received)"
	is "and a checksum finds each" "$(lines "$WORK/corrupt")" 0
}

filter_and_way() {
	cable only-port $PORT rightward loss 100%
	traffic "$WORK/matched" 100 0
	traffic "$WORK/other" 100 0 7000
	unplug
	is "a loss of 100 % lets nothing pass" "$(lines "$WORK/matched")" 0
	is "though it was there" "$(count rightward matched)" 100
	is "another port is left alone" "$(lines "$WORK/other")" 100

	cable leftward loss 100%
	ok "no answer from the left-hand way" ! in_ns a ping -c 2 -i 0.1 -W 0.3 10.0.0.2
	unplug
	between "which lost them" "$(count leftward lost)" 1 100
	is "while the right-hand way lost nothing" "$(count rightward lost)" 0
}

# The kernel takes the outer tag out of a frame that a packet socket receives, whether or not it knows VLAN devices.
tags() {
	local to=ffffffffffff from=020000000001 outer=88a80007 inner=81000005
	# IPv4 10.0.0.1 > 10.0.0.2, UDP 7441 > 7441 without a checksum
	local datagram=08004500002000000000401100000a0000010a0000021d111d11000c00006b706869

	cable only-port $PORT loss 100%
	start capture in_ns b tcpdump --immediate-mode -l -n -xx -i eth0 ether src 02:00:00:00:00:01
	eventually 5 grep -q listening "$(log_of capture)"
	in_ns a "$TOOLS/rawsend" eth0 $to$from$inner$datagram $to$from$outer$inner$datagram
	cable only-port $((PORT + 1)) loss 100%
	in_ns a "$TOOLS/rawsend" eth0 $to$from$inner$datagram $to$from$outer$inner$datagram
	eventually 5 captured $from${outer}${inner}0800 || true
	stop capture
	is "the filter looks behind tags" "$(grep -c 0x0000: "$(log_of capture)")" 2
	ok "a tag passes" captured $to$from${inner}0800
	ok "and so do two" captured $to$from${outer}${inner}0800
}

# captured HEX: whether these bytes are in a captured frame
captured() {
	local bytes

	bytes=$(sed -n 's/^.*0x[0-9a-f]*: *//p' "$(log_of capture)" | tr -d ' \n')
	[[ $bytes == *$1* ]]
}

manners() {
	ok "it ends by itself after 'for'" in_ns relay timeout 5 "$TOOLS/impair" left left right right for 100ms
	ok "a wrong word is refused" ! in_ns relay timeout 5 "$TOOLS/impair" left left right right los 5%
	ok "a duration without unit is refused" ! in_ns relay timeout 5 "$TOOLS/impair" left left right right delay 5
	ok "a missing device is refused" ! in_ns relay timeout 5 "$TOOLS/impair" left nowhere right right
}

nothing_asked
loss
bursts
duplicates
delay
reordering
corruption
filter_and_way
tags
manners
