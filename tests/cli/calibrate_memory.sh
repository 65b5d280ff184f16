#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# How much memory `kphi trace calibrate` takes: not more for a trace that is four times as long, and for twenty times as many
# peers no more than what is kept of each while it is surveyed, its window and its histogram.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

cd "$WORK"

# made PEERS BEATS OUT: peers that beat every second, in turn, with jitter and some loss; how many arrivals there are
made() {
	awk -v peers="$1" -v beats="$2" 'BEGIN {
		srand(3)
		print "peer,arrival_ns,sequence"
		for (i = 0; i < beats; i++)
			for (p = 0; p < peers; p++)
				if (rand() > 0.005) printf "p%d,%.0f,%d\n", p, 1e9 * (1 + i + (p + rand()) / peers), i
	}' | kphi -j trace convert - "$3" from csv to trace interval 1s | jq .arrivals
}

# peak TRACE WORD...: the most that calibrating it has taken, in KiB; of two runs the lesser, because two threads meet at their
# most by chance
peak() {
	python3 - "$KPHI" trace calibrate "$@" << 'END'
import os, subprocess, sys

def once():
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit('calibrate has failed')
    return usage.ru_maxrss

print(min(once(), once()))
END
}

between "a trace of 0.7 million arrivals" "$(made 100 7000 one.trace)" 690000 700000
between "one of 2.8 million" "$(made 100 28000 four.trace)" 2760000 2800000
one=$(peak one.trace model normal)
four=$(peak four.trace model normal)
between "it fits a small machine" "$one" 20000 163840
# Seven bytes of each further arrival would be more.
between "and takes no more if it is four times as long (KiB)" "$((four - one))" -65536 14000

between "few peers" "$(made 100 2000 few.trace)" 190000 200000
between "many" "$(made 2000 100 many.trace)" 190000 200000
few=$(peak few.trace model normal)
many=$(peak many.trace model normal)
between "1,900 more of them take 24 KiB each at most" "$((many - few))" -20000 45600

# The witness: more crashes to remember do take more.
more=$(peak few.trace model normal crashes 200)
between "what has to be kept is seen" "$((more - few))" 60000 400000
