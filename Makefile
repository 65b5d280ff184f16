# kphi: every verb a person needs.
#
#   make          build/kphi                         make check    build and run every test (root)
#   make demo     five peers, one death (root)       make bench    JSON lines, each with its baseline (root)
#   make deb      packages for Debian in build/deb   make man      manual pages in build/man
#   make fuzz     every fuzz target, FUZZ=60 seconds each
#   make valgrind the program under valgrind (root)
#   make coverage the lines of user/ that the tests reach, by folder (root)
#   make soak     10,000 senders that come and go, FOR=10m; SEED=N repeats one (root)
#   make duel     kphi beside other detectors, in trouble (root, 15 minutes)
#   make check-kernels  on five kernels of Debian's, emulated; prints one table, build/kernels.tsv has it (root)
#   make lint     format, clang-tidy, cppcheck       make install  PREFIX=/usr/local, DESTDIR=
#   make format   lay out the C files                make clean    remove build/
#   make lib      libkphi, shared and static         make -C examples, once it is installed
#
# V=1 shows the commands.

B := build
CC := gcc
CLANG := clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
MULTIARCH := $(shell $(CC) -print-multiarch)

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith
CPPFLAGS := -D_GNU_SOURCE -Iinclude -Iuser -I$(B)/gen
CFLAGS := -std=c11 -O2 -g -fno-strict-aliasing $(WARN) $(CFLAGS_EXTRA)
# What is installed, and what the tests of the program run. The compiler may have some of it by default, or not.
HARDEN := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
HARDEN_LINK := -pie -Wl,-z,relro,-z,now,-z,noexecstack
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Iinclude -I/usr/include/$(MULTIARCH)
LDLIBS := -lbpf -lelf -lz -lpcap -lmnl -ljson-c -lsystemd -lcyaml -lyaml -lmicrohttpd -lcap -lseccomp -lncursesw -ltinfo -lresolv -lm

# core/ decides, so it has no floating point: the compiler refuses it outright where it can.
CORE_CFLAGS := $(if $(filter x86_64 aarch64,$(shell uname -m)),-mgeneral-regs-only)

ifeq ($(V),1)
Q :=
say =
else
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

SOURCES := $(wildcard user/*.c user/*/*.c)
OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o)
LIBRARY := $(filter-out $(B)/obj/user/main.o,$(OBJECTS))
BPF_SOURCES := $(wildcard bpf/*.bpf.c tools/*.d/*.bpf.c)
SKELETONS := $(patsubst %.bpf.c,$(B)/gen/%.skel.h,$(notdir $(BPF_SOURCES)))
PAGES := user/cmd/calibrate $(wildcard user/web/page user/web/lab)
GENERATED := $(SKELETONS) $(B)/gen/abi.h $(patsubst %,$(B)/gen/%.html.h,$(notdir $(PAGES)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/*_test.c))
PROG_TESTS := $(patsubst tests/prog/%.c,$(B)/tests/prog/%,$(wildcard tests/prog/*_test.c))
FUZZERS := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
DUEL := $(B)/tools/duel.d/user-detector $(B)/tools/duel.d/deadlines
TOOLS := $(patsubst tools/%.c,$(B)/tools/%,$(wildcard tools/*.c)) $(B)/tools/bench $(DUEL)

.PHONY: FORCE all lib tests tools fuzzers fuzz setup man deb demo check coverage valgrind bench lint format install uninstall clean soak duel check-kernels
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/kphi lib

$(B)/kphi: $(OBJECTS) $(B)/objects
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LINK) $(LDFLAGS) -o $@ $(OBJECTS) $(LDLIBS)

# Written only when the list changes, so that a source file that went away is linked out, too.
$(B)/objects: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(OBJECTS)' | cmp -s - $@ || echo '$(OBJECTS)' > $@
FORCE:

# --- the kernel side ------------------------------------------------------------------------------------------------

vpath %.bpf.c $(sort $(dir $(BPF_SOURCES)))
$(B)/bpf/%.bpf.o: %.bpf.c Makefile
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

# The types of the globals come first.
$(B)/gen/%.skel.h: $(B)/bpf/%.bpf.o Makefile
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include <kphi/maps.h>' > $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F)_bpf >> $@

# The ABI is the text of these two headers without comments and help strings.
$(B)/gen/abi.h: include/kphi/counters.h include/kphi/maps.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)printf '#define KPHI_ABI "%s"\n' \
		"$$(cat $^ | $(CC) -fpreprocessed -dD -E -P - | sed 's/"[^"]*"//g' | tr -d ' \t\n' | sha256sum | cut -c1-8)" > $@

# A page is a folder: index.html, and the styles and scripts in it and in the folder `common` beside it, in the order of
# their names, become one file that asks nobody for anything, as bytes. For HTTP there are digests besides: an entity tag,
# and those by which a content security policy lets just this style and this script pass. What is between their tags begins
# with the end of the opening tag's line.
page_parts = $(sort $(wildcard $(dir $(1))common/*.$(2))) $(sort $(wildcard $(1)/*.$(2)))
csp_digest = $$(env printf "$$({ echo; cat $(1); } | sha256sum | cut -c 1-64 | sed 's/../\\x&/g')" | base64)

define page_rule
$(B)/gen/$(notdir $(1)).html.h: $(1)/index.html $(call page_parts,$(1),css) $(call page_parts,$(1),js) Makefile
	$$(call say,GEN,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)cat /dev/null $(call page_parts,$(1),css) > $$@.css
	$$(Q)cat /dev/null $(call page_parts,$(1),js) > $$@.js
	$$(Q)sed -e '/@STYLE@/{r $$@.css' -e 'd;}' -e '/@SCRIPT@/{r $$@.js' -e 'd;}' $$< > $$@.html
	$$(Q)echo '#define $(notdir $(1))_html_style "sha256-'$$(call csp_digest,$$@.css)'"' > $$@
	$$(Q)echo '#define $(notdir $(1))_html_script "sha256-'$$(call csp_digest,$$@.js)'"' >> $$@
	$$(Q)echo '#define $(notdir $(1))_html_tag "'$$$$(sha256sum < $$@.html | cut -c 1-32)'"' >> $$@
	$$(Q)echo 'static const unsigned char $(notdir $(1))_html[] = {' >> $$@
	$$(Q)od -An -v -tx1 $$@.html | sed 's/ \(..\)/0x\1,/g' >> $$@
	$$(Q)echo '0};' >> $$@
endef
$(foreach page,$(PAGES),$(eval $(call page_rule,$(page))))

# --- user space: once for people, once under sanitizers for the tests -------------------------------------------------

$(B)/obj/user/core/%.o $(B)/asan/user/core/%.o: EXTRA = $(CORE_CFLAGS)
$(B)/asan/user/core/%.o: EXTRA =

$(B)/obj/%.o: %.c Makefile | $(GENERATED)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(HARDEN) $(EXTRA) -MMD -MP -c -o $@ $<

$(B)/asan/%.o: %.c Makefile | $(GENERATED)
	$(call say,ASAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(SANITIZE) -MMD -MP -c -o $@ $<

$(B)/tests/unit/%: $(B)/asan/tests/unit/%.o $(LIBRARY:$(B)/obj/%=$(B)/asan/%)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -o $@ $^ -lcmocka $(LDLIBS)

# The scenario runner is more than one file.
$(B)/tests/unit/scenario_test: $(patsubst %,$(B)/asan/tests/unit/scenario_%.o,script kernel world host)

# libFuzzer is clang's, so there the library is once more its work.
FUZZ_CFLAGS := $(filter-out -Wall -Wextra -Werror,$(CFLAGS)) -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
$(B)/fuzz/%.o: %.c Makefile | $(GENERATED)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -Itests $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/fuzz/%: $(B)/fuzz/tests/fuzz/%.o $(LIBRARY:$(B)/obj/%=$(B)/fuzz/%)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

# And once to count the lines that the tests reach: nothing is folded away, and a fuzz target has a main() that reads files.
COVERED := $(patsubst %,$(B)/cov/%,kphi $(UNIT_TESTS:$(B)/%=%) $(FUZZERS:$(B)/%=%))
$(B)/cov/%.o: %.c Makefile | $(GENERATED)
	$(call say,COV,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -O0 --coverage -fprofile-update=atomic -MMD -MP -c -o $@ $<

$(COVERED): $(B)/cov/%:
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) --coverage -o $@ $^ -lcmocka $(LDLIBS)

$(B)/cov/kphi: $(OBJECTS:$(B)/obj/%=$(B)/cov/%)
$(filter-out $(B)/cov/kphi,$(COVERED)): $(B)/cov/%: $(B)/cov/%.o $(LIBRARY:$(B)/obj/%=$(B)/cov/%)
$(FUZZERS:$(B)/%=$(B)/cov/%): $(B)/cov/tests/fuzz/files.o
$(B)/cov/tests/unit/scenario_test: $(patsubst %,$(B)/cov/tests/unit/scenario_%.o,script kernel world host)

$(B)/obj/tests/%.o: CPPFLAGS += -Itests
$(B)/tests/prog/%: $(B)/obj/tests/prog/%.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HARDEN_LINK) -o $@ $^ -lcmocka -lpthread $(LDLIBS)

# A tool may name the libraries it needs: TOOL_LIBS_name.
TOOL_LIBS_phi-vectors := -lmpfr -lgmp
$(B)/tools/%: $(B)/obj/tools/%.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HARDEN_LINK) -o $@ $^ $(TOOL_LIBS_$*) -lpthread $(LDLIBS)

$(B)/tools/bench: $(patsubst %.c,$(B)/obj/%.o,$(filter-out %.bpf.c,$(wildcard tools/bench.d/*.c))) $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HARDEN_LINK) -o $@ $^ -lpthread $(LDLIBS)

tests: $(B)/kphi lib $(B)/tests/lib_threads $(UNIT_TESTS) $(PROG_TESTS) $(FUZZERS) $(TOOLS)

fuzzers: $(FUZZERS)

tools: $(TOOLS)

# --- libkphi: the parts that a library needs, position-independent, with nothing in sight but what the map names -----------

LIB_VERSION := $(shell sed -n 's/^\#define KPHI_VERSION "\(.*\)"/\1/p' user/version.h)
LIB_SONAME := libkphi.so.0
LIB_FILE := libkphi.so.$(LIB_VERSION)
LIB_SOURCES := $(wildcard user/lib/*.c) \
	$(patsubst %,user/kernel/%.c,clock pin store_open store_read why) \
	$(patsubst %,user/core/%.c,fixed grace models phi phi_empirical phi_loss policy silence) \
	$(patsubst %,user/beat/%.c,destinations emitter epoch_file node_id trouble vitals wire_codec) \
	$(patsubst %,user/io/%.c,file format key_file parse parse_id utf8)
LIB_CFLAGS := -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
LIB_LDLIBS := -lbpf -lsystemd -lcap
LIB_PRIVATE := $(LIB_LDLIBS) -lelf -lz
LIB_EXPORTS := $(shell sed -n 's/^\t\(kphi_.*\);/\1/p' user/lib/libkphi.map)

$(B)/pic/user/core/%.o: EXTRA = $(CORE_CFLAGS)
$(B)/pic/%.o: %.c Makefile | $(GENERATED)
	$(call say,PIC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(filter-out -fPIE,$(HARDEN)) $(LIB_CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<

lib: $(B)/lib/$(LIB_FILE) $(B)/lib/libkphi.a

$(B)/lib/$(LIB_FILE): $(LIB_SOURCES:%.c=$(B)/pic/%.o) user/lib/libkphi.map
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared $(filter-out -pie,$(HARDEN_LINK)) $(LDFLAGS) -Wl,-soname,$(LIB_SONAME) -Wl,--version-script=user/lib/libkphi.map -Wl,-z,defs \
		-Wl,--gc-sections -Wl,--as-needed -o $@ $(filter %.o,$^) $(LIB_LDLIBS)
	$(Q)ln -sf $(LIB_FILE) $(@D)/$(LIB_SONAME)
	$(Q)ln -sf $(LIB_SONAME) $(@D)/libkphi.so

# One object, so that what is private stays so in the static library, too.
$(B)/lib/libkphi.a: $(LIB_SOURCES:%.c=$(B)/pic/%.o) user/lib/libkphi.map
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -nostdlib -r -Wl,--gc-sections $(LIB_EXPORTS:%=-Wl,-u,%) -o $(@D)/libkphi.o $(filter %.o,$^)
	$(Q)objcopy $(LIB_EXPORTS:%=--keep-global-symbol=%) $(@D)/libkphi.o
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(@D)/libkphi.o

# Once more for a test that looks for races between its users: tests/net/lib_threads.c. The fence that it warns of orders
# reading against the kernel, which it cannot see.
$(B)/tsan/%.o: %.c Makefile | $(GENERATED)
	$(call say,TSAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-tsan -fsanitize=thread -MMD -MP -c -o $@ $<

$(B)/tests/lib_threads: $(B)/tsan/tests/net/lib_threads.o $(LIB_SOURCES:%.c=$(B)/tsan/%.o)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -fsanitize=thread -o $@ $^ $(LIB_LDLIBS)

# --- verbs ------------------------------------------------------------------------------------------------------------

setup:
	$(Q)tools/setup

demo: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi $(B)/tools/udp-reader >&2
	$(Q)tools/demo

check: setup
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)tests/run

check-kernels: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi $(PROG_TESTS)
	$(Q)rm -rf $(B)/kernels
	$(Q)tests/run prog/verifier vm/kernel_; status=$$?; tests/vm/table && exit $$status

FUZZ ?= 60
fuzz: setup
	$(Q)$(MAKE) --no-print-directory fuzzers $(B)/kphi
	$(Q)KPHI_FUZZ_SECONDS=$(FUZZ) KPHI_TEST_TIMEOUT=$$(($(FUZZ) * 20 + 120)) tests/run fuzz/

valgrind: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi
	$(Q)KPHI_VALGRIND=all KPHI_TEST_TIMEOUT=900 tests/run cli/valgrind

coverage: setup
	$(Q)$(MAKE) --no-print-directory $(COVERED) >&2
	$(Q)tools/coverage

# Standard output is for the figures.
bench: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi $(B)/tools/bench >&2
	$(Q)tools/bench

# Beside FRR, BIRD, Serf, keepalived and a detector in user space. FOR=SECONDS of each phase, ROWS="idle hogs ...", OUT=docs
duel: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi $(DUEL) $(B)/bpf/loss.bpf.o >&2
	$(Q)tools/duel

FOR ?= 10m
PEERS ?= 10000
soak: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi $(B)/tools/swarm >&2
	$(Q)tools/soak for $(FOR) peers $(PEERS) $(if $(SEED),seed $(SEED))

OURS := $(wildcard include/*.h include/kphi/*.h examples/*.[ch] examples/*/*.[ch] bpf/*.[ch] user/*.[ch] user/*/*.[ch] tests/*/*.[ch] tools/*.[ch] tools/*.d/*.[ch])

lint: $(GENERATED)
	$(Q)tools/lint

format:
	$(Q)clang-format -i $(OURS)

# Manual pages: the text is in docs/man; the commands and their words are the parser's own, the configuration is the example.
MANUALS := $(patsubst docs/man/%,$(B)/man/%,$(wildcard docs/man/*.[0-9]))

man: $(MANUALS)

$(B)/man/%: docs/man/% $(B)/kphi dist/kphi.yaml tools/manual
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)tools/manual $< > $@

deb:
	$(Q)tools/deb

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
UNITDIR ?= $(PREFIX)/lib/systemd/system
DOCDIR ?= $(PREFIX)/share/doc/kphi
PC := $(LIBDIR)/pkgconfig/libkphi.pc

MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
INSTALL := install -D -m 0644
UNITS := $(notdir $(wildcard dist/*.service dist/*.mount))

# What needs no root but for where it goes; nothing is started, and no configuration is put where a daemon would find it.
install: all man
	$(Q)$(INSTALL) -m 0755 $(B)/kphi $(DESTDIR)$(BINDIR)/kphi
	$(Q)$(INSTALL) $(B)/lib/$(LIB_FILE) $(DESTDIR)$(LIBDIR)/$(LIB_FILE)
	$(Q)ln -sf $(LIB_FILE) $(DESTDIR)$(LIBDIR)/$(LIB_SONAME)
	$(Q)ln -sf $(LIB_SONAME) $(DESTDIR)$(LIBDIR)/libkphi.so
	$(Q)$(INSTALL) $(B)/lib/libkphi.a $(DESTDIR)$(LIBDIR)/libkphi.a
	$(Q)$(INSTALL) include/kphi.h $(DESTDIR)$(INCLUDEDIR)/kphi.h
	$(Q)mkdir -p $(DESTDIR)$(dir $(PC))
	$(Q)sed -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(LIB_VERSION)|' \
		-e 's|@PRIVATE@|$(LIB_PRIVATE)|' user/lib/libkphi.pc.in > $(DESTDIR)$(PC)
	$(Q)for unit in $(UNITS); do \
		$(INSTALL) dist/$$unit $(DESTDIR)$(UNITDIR)/$$unit && \
		sed -i 's|/usr/bin/kphi|$(BINDIR)/kphi|' $(DESTDIR)$(UNITDIR)/$$unit || exit 1; \
	done
	$(Q)$(INSTALL) dist/kphi.yaml $(DESTDIR)$(DOCDIR)/examples/kphi.yaml
	$(Q)for page in $(notdir $(MANUALS)); do \
		$(INSTALL) $(B)/man/$$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page || exit 1; \
	done
	$(Q)$(INSTALL) dist/completion/kphi.bash $(DESTDIR)$(BASHDIR)/kphi
	$(Q)$(INSTALL) dist/completion/_kphi $(DESTDIR)$(ZSHDIR)/_kphi
	$(Q)[ -n "$(DESTDIR)" ] || ldconfig 2> /dev/null || true # who is not root has no cache to renew

INSTALLED = $(BINDIR)/kphi $(patsubst %,$(LIBDIR)/%,$(LIB_FILE) $(LIB_SONAME) libkphi.so libkphi.a) \
	$(INCLUDEDIR)/kphi.h $(PC) $(UNITS:%=$(UNITDIR)/%) $(DOCDIR)/examples/kphi.yaml \
	$(foreach page,$(notdir $(MANUALS)),$(MANDIR)/man$(patsubst .%,%,$(suffix $(page)))/$(page)) $(BASHDIR)/kphi $(ZSHDIR)/_kphi

# Folders that are empty now and have kphi's name go, too; the others are everybody's.
uninstall:
	$(Q)rm -f $(INSTALLED:%=$(DESTDIR)%)
	$(Q)for folder in $(DOCDIR)/examples $(DOCDIR); do \
		rmdir $(DESTDIR)$$folder 2> /dev/null || true; \
	done
	$(Q)[ -n "$(DESTDIR)" ] || ldconfig 2> /dev/null || true # who is not root has no cache to renew

clean:
	$(call say,CLEAN,$(B))
	$(Q)rm -rf $(B)

-include $(shell find $(B)/obj $(B)/asan $(B)/fuzz $(B)/bpf $(B)/pic $(B)/tsan -name '*.d' -type f 2>/dev/null)
