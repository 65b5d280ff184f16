#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make install, what it puts where, and what the library shows of itself. The ABI is checked against user/lib/libkphi.abi:
# symbols with their versions, declarations, and the layout of each struct. If it has changed so that programs built before
# still work (something was added), write it anew: tests/net/lib_install.sh --abi > user/lib/libkphi.abi. If not, that takes
# another soname.
# It measures no time, so it runs beside others.

# The whole ABI as text. Layouts are clang's, which tells them of every struct there is.
abi() {
	local header=$1/include/kphi.h library=$1/lib/libkphi.so

	echo "# symbols"
	objdump -T "$library" | awk '$4 == ".text" && / g / { print $(NF - 1), $NF }' | tr -d '()' | LC_ALL=C sort
	echo "# declarations"
	gcc -E -P -I"$1/include" -x c "$header" | sed -n '/kphi/,$p' | grep -v '^#'
	echo "# constants"
	sed -n 's/^#define \(KPHI_[A-Z_]*\)  *\([^ ].*\)$/\1 \2/p' "$header" | sed 's| */\*.*||'
	echo "# layouts"
	printf '#include <kphi.h>\n' | clang -fsyntax-only -I"$1/include" -Xclang -fdump-record-layouts-complete -x c - |
		sed -n '/struct kphi/,/sizeof/p' | grep -v 'Dumping'
}

if [ "${1-}" = --abi ]; then
	cd "$(dirname "$0")/../.." || exit 1
	work=$(mktemp -d) && mkdir "$work/lib" && ln -s "$PWD/include" "$work/include" &&
		ln -s "$PWD/build/lib/libkphi.so" "$work/lib/libkphi.so" && abi "$work"
	rm -rf "$work"
	exit
fi

. "$(dirname "$0")/lib_examples.bash"

usr=$WORK/usr

# What is below the folder that was installed to, but for what this test keeps there.
installed() {
	(cd "$WORK/usr" && find . ! -type d | LC_ALL=C sort)
}

ok "make install" install_library
is "what is there, beside manuals and completion" "$(installed | grep -v '^./share/\(man\|bash-completion\|zsh\)/')" "./bin/kphi
./include/kphi.h
./lib/libkphi.a
./lib/libkphi.so
./lib/libkphi.so.0
./lib/libkphi.so.0.1.0
./lib/pkgconfig/libkphi.pc
./lib/systemd/system/kphi-beat@.service
./lib/systemd/system/kphi-store.service
./lib/systemd/system/kphi.service
./lib/systemd/system/run-kphi-bpf.mount
./share/doc/kphi/examples/kphi.yaml"
is "the binary runs" "$("$usr/bin/kphi" --version | head -n 1)" "$("$KPHI" --version | head -n 1)"
is "units name the binary where it is" "$(grep -ho '/[a-z/]*bin/kphi' "$usr"/lib/systemd/system/*.service | sort -u)" /usr/bin/kphi
ok "the configuration is one that kphi takes" "$usr/bin/kphi" run config "$usr/share/doc/kphi/examples/kphi.yaml" check

# --- what the library shows ---------------------------------------------------------------------------------------------

is "its soname" "$(objdump -p "$LIB/libkphi.so" | awk '$1 == "SONAME" { print $2 }')" libkphi.so.0
abi "$usr" > "$WORK/abi"
ok "the ABI is what it was" diff -u "$ROOT/user/lib/libkphi.abi" "$WORK/abi"
sed 's/uint32_t generation;/uint64_t generation;/' "$usr/include/kphi.h" > "$WORK/other.h"
mkdir -p "$WORK/changed/include"
ln -s "$LIB" "$WORK/changed/lib"
mv "$WORK/other.h" "$WORK/changed/include/kphi.h"
abi "$WORK/changed" > "$WORK/abi.changed"
ok "witness: another type of a member is another ABI" ! diff -q "$ROOT/user/lib/libkphi.abi" "$WORK/abi.changed"
is "... and another layout" "$(grep -c 'sizeof=16,' "$WORK/abi.changed")" "$(($(grep -c 'sizeof=16,' "$WORK/abi") + 1))"
is "every function of the header is exported, and nothing else" \
	"$(objdump -T "$LIB/libkphi.so" | awk '$4 == ".text" && / g / { print $NF }' | sort)" \
	"$(gcc -E -P -x c "$usr/include/kphi.h" | grep -o 'kphi_[a-z0-9_]*(' | tr -d '(' | sort -u)"
is "the static one shows the same" "$(nm -g --defined-only "$LIB/libkphi.a" | awk 'NF == 3 { print $3 }' | sort)" \
	"$(objdump -T "$LIB/libkphi.so" | awk '$4 == ".text" && / g / { print $NF }' | sort)"
# What prints, ends the process, starts others or touches signals. open() is its witness: what it does use is found so.
uses() {
	nm -D --undefined-only "$LIB/libkphi.so" | grep -cwE "($1)(@.*)?"
}
is "it never prints or exits" "$(uses 'stdout|stderr|v?f?printf|__v?f?printf_chk|f?puts|fwrite|putc|perror|exit|_exit|abort|fork|execve|system|signal|sigaction|sigprocmask|kill|raise')" 0
is "... witness: what it uses is found" "$(uses 'open|sendto')" 2

# --- how it is used -----------------------------------------------------------------------------------------------------

is "pkg-config knows its version" "$(pkg-config --modversion libkphi)" "$("$KPHI" --version | grep -o '[0-9][0-9.]*' | head -n 1)"
cat > "$WORK/use.c" << 'C'
#include <kphi.h>
int main(void)
{
	struct kphi_ref peer = KPHI_NOBODY;

	return kphi_version() == 0 || peer.slot == 0;
}
C
cp "$WORK/use.c" "$WORK/use.cc"
compile() {
	# shellcheck disable=SC2046 # words
	"$@" -Wall -Wextra -Werror -o "$WORK/use" $(pkg-config --cflags libkphi) $(pkg-config --libs libkphi) && "$WORK/use"
}
ok "C99, pedantic" compile gcc -std=c99 -pedantic "$WORK/use.c" -Wl,--no-as-needed
ok "C11 with clang" compile clang -std=c11 -pedantic "$WORK/use.c"
if type -P g++ > /dev/null; then
	ok "C++" compile g++ -std=c++17 -pedantic "$WORK/use.cc"
else
	skip "C++" "no g++ here"
fi
printf '#include <linux/bpf.h>\n#include <kphi.h>\nint x = sizeof(struct kphi_judgement);\n' > "$WORK/use.bpf.c"
ok "BPF" clang -target bpf -ffreestanding -Wall -Werror -I"/usr/include/$(gcc -print-multiarch)" -I"$usr/include" -c \
	-o "$WORK/use.o" "$WORK/use.bpf.c"
for library in "" STATIC=1; do
	how=${library:+static}
	how=${how:-shared}
	ok "the examples, $how" make -s -C "$ROOT/examples" O="$WORK/$how" $library
	ok "$how: consumer runs" sh -c "echo | '$WORK/$how/consumer' /nonexistent db1 2> /dev/null | grep -qx db1"
	like "$how: emitter runs" "$("$WORK/$how/emitter" 2>&1 || true)" "usage: emitter"
	like "$how: breaker runs" "$("$WORK/$how/breaker" /nonexistent . any a=1.2.3.4 2>&1 || true)" "/nonexistent: there is no store"
done
is "the shared one needs the library, the static one does not" \
	"$(for how in shared static; do objdump -p "$WORK/$how/consumer" | grep -c 'NEEDED.*libkphi'; done | xargs)" "1 0"
is "the examples are short" "$(($(wc -l < "$ROOT/examples/consumer.c") <= 60)) $(($(wc -l < "$ROOT/examples/consumer.py") <= 60))" "1 1"

# --- and removed --------------------------------------------------------------------------------------------------------

touch "$usr/include/other.h"
ok "make uninstall" make -s -C "$ROOT" uninstall DESTDIR="$WORK" PREFIX=/usr
is "takes all that is kphi's, and nothing else" "$(installed)" ./include/other.h
ok "... its folder of documents, too" ! test -e "$usr/share/doc/kphi"
