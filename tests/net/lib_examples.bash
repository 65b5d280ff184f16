# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# libkphi as it is installed, and the examples built against it. Source it instead of lib.sh.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

GROUP=games # any group that every Debian has
NOBODY=65534
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=$(command -v python3)
LIB=$WORK/usr/lib
EXAMPLES=$WORK/examples
unset MAKEFLAGS MFLAGS # a `make check` around this has jobs of its own

# The store and, for who wants one, a cgroup: where nobody can get to, whatever the way to this folder is.
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/bpf /mnt/cgroup
mount -t bpf -o mode=755 bpf /mnt/bpf
export KPHI_PIN=/mnt/bpf/kphi

install_library() {
	make -s -C "$ROOT" install DESTDIR="$WORK" PREFIX=/usr > "$WORK/install.log" 2>&1 || return 1
	chmod 755 "$WORK" # nobody has business here
}
export PKG_CONFIG_PATH=$LIB/pkgconfig PKG_CONFIG_SYSROOT_DIR=$WORK LD_LIBRARY_PATH=$LIB

# examples NAME...: into $EXAMPLES
examples() {
	make -s -C "$ROOT/examples" O="$EXAMPLES" "${@/#/$EXAMPLES/}" > "$WORK/examples.log" 2>&1
}

# test_program NAME: tests/net/NAME.c, with the installed library
test_program() {
	# shellcheck disable=SC2046 # words
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror $(pkg-config --cflags libkphi) -o "$WORK/$1" "$ROOT/tests/net/$1.c" \
		$(pkg-config --libs libkphi) -lpthread
}

# Before a command: as nobody, in the store's group only.
# shellcheck disable=SC2034,SC2206,SC2207 # for the tests; the number of a group
MEMBER=(setpriv --reuid=$NOBODY --regid=$(getent group $GROUP | cut -d: -f3) --clear-groups)
