#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `kphi store show` calls its memory is what the kernel accounts to the pinned maps, from the smallest store to one of
# 131,072 peers.

. "$(dirname "$0")/../net/lib.sh"

accounted() {
	local map sum=0

	for map in "$KPHI_PIN"/abi-*/*; do
		if [ -d "$map" ] || [ "${map##*/}" = control ]; then continue; fi
		sum=$((sum + $(bpftool -j map show pinned "$map" | jq .bytes_memlock)))
	done
	echo $sum
}

for size in "peers 1 window 8" "peers 1024 window 1000" "peers 131072 window 64"; do
	# shellcheck disable=SC2086 # words
	kphi store create $size > /dev/null
	kernel=$(accounted)
	between "$size: of the kernel's $kernel bytes (ppm)" \
		$(($(kphi -j store show | jq .memory_bytes) * 1000000 / kernel)) 950000 1050000
	kphi store purge > /dev/null
done
