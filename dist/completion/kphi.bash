# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion for bash. kphi itself knows which words may come next, the names in the store among them.

_kphi() {
	local candidate candidates

	mapfile -t candidates < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null | cut -f 1)
	COMPREPLY=()
	for candidate in "${candidates[@]}"; do
		if [ "$candidate" = :files ]; then
			compopt -o default
		else
			COMPREPLY+=("$candidate")
		fi
	done
}

complete -F _kphi kphi
