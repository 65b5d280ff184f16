#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The Debian packages: they are built, lintian finds nothing, and what belongs in them is there. tests/dist/install.sh
# installs them.

. "$(dirname "$0")/../net/lib.sh"

cd "$ROOT"
ok "they are built" tools/deb
version=$(dpkg-parsechangelog -S Version)
arch=$(dpkg --print-architecture)
is "the changelog's version is the program's" "$version" "$(sed -n 's/^#define KPHI_VERSION "\(.*\)"/\1/p' user/version.h)"

deb() {
	echo "build/deb/$1_${version}_$arch.deb"
}

files() {
	dpkg-deb -c "$(deb "$1")" | awk '{ print $6 }' | sed 's,^\./,/,'
}

is "lintian finds nothing" "$(lintian --allow-root --fail-on error,warning --tag-display-limit 0 build/deb/*.changes 2>&1)" ""
dpkg-deb -R "$(deb libkphi0)" "$WORK/bad"
rm -r "$WORK/bad/usr/share/doc"
dpkg-deb -b "$WORK/bad" "$WORK/bad.deb" > /dev/null
like "witness: of a package without its copyright it says so" "$(lintian --allow-root "$WORK/bad.deb" 2>&1 || true)" "no-copyright-file"
for file in /usr/bin/kphi /etc/kphi/kphi.yaml /usr/share/man/man8/kphi-peer.8.gz /usr/share/man/man5/kphi.yaml.5.gz \
	/usr/share/bash-completion/completions/kphi /usr/share/zsh/vendor-completions/_kphi /usr/lib/sysusers.d/kphi.conf \
	/lib/systemd/system/kphi.service /lib/systemd/system/kphi-beat@.service; do
	ok "kphi has $file" grep -qx "$file" <(files kphi)
done
ok "libkphi0 has the library" grep -qE "/libkphi\.so\.0$" <(files libkphi0)
for file in /usr/include/kphi.h 'libkphi\.a' 'libkphi\.so' 'pkgconfig/libkphi\.pc' 'man3/libkphi\.3\.gz'; do
	ok "libkphi-dev has ${file//\\/}" grep -qE "$file\$" <(files libkphi-dev)
done
like "the program says what it needs" "$(dpkg-deb -f "$(deb kphi)" Depends)" "libbpf1.*libmicrohttpd12"
