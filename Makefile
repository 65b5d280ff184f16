# kphi: every verb a person needs.
#
#   make          build/kphi                         make check    build and run every test (root)
#   make demo     five peers, one death (root)       make bench    JSON lines, each with its baseline (root)
#   make fuzz     every fuzz target, FUZZ=60 seconds each
#   make check-kernels  on five kernels of Debian's, emulated; prints one table, build/kernels.tsv has it (root)
#   make lint     format, clang-tidy, cppcheck       make install  PREFIX=/usr/local, DESTDIR=
#   make format   lay out the C files                make clean    remove build/
#
# V=1 shows the commands.

B := build
CC := gcc
CLANG := clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
MULTIARCH := $(shell $(CC) -print-multiarch)

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith
CPPFLAGS := -D_GNU_SOURCE -Iinclude -Iuser -I$(B)/gen
CFLAGS := -std=c11 -O2 -g -fno-strict-aliasing $(WARN)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Iinclude -I/usr/include/$(MULTIARCH)
LDLIBS := -lbpf -lelf -lz -lpcap -lmnl -ljson-c -lsystemd -lcyaml -lyaml -lmicrohttpd -lncursesw -ltinfo -lresolv -lm

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
TOOLS := $(patsubst tools/%.c,$(B)/tools/%,$(wildcard tools/*.c)) $(B)/tools/bench

.PHONY: FORCE all tests tools fuzzers fuzz setup demo check check-kernels bench lint format install uninstall clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/kphi

$(B)/kphi: $(OBJECTS) $(B)/objects
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OBJECTS) $(LDLIBS)

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
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<

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

$(B)/obj/tests/%.o: CPPFLAGS += -Itests
$(B)/tests/prog/%: $(B)/obj/tests/prog/%.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ -lcmocka -lpthread $(LDLIBS)

# A tool may name the libraries it needs: TOOL_LIBS_name.
TOOL_LIBS_phi-vectors := -lmpfr -lgmp
$(B)/tools/%: $(B)/obj/tools/%.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(TOOL_LIBS_$*) -lpthread $(LDLIBS)

$(B)/tools/bench: $(patsubst %.c,$(B)/obj/%.o,$(filter-out %.bpf.c,$(wildcard tools/bench.d/*.c))) $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ -lpthread $(LDLIBS)

tests: $(B)/kphi $(UNIT_TESTS) $(PROG_TESTS) $(FUZZERS) $(TOOLS)

fuzzers: $(FUZZERS)

tools: $(TOOLS)

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
	$(Q)KPHI_TEST_KERNELS=all tests/run prog/verifier vm/kernel_; status=$$?; tests/vm/table && exit $$status

FUZZ ?= 60
fuzz: setup
	$(Q)$(MAKE) --no-print-directory fuzzers $(B)/kphi
	$(Q)KPHI_FUZZ_SECONDS=$(FUZZ) KPHI_TEST_TIMEOUT=$$(($(FUZZ) * 20 + 120)) tests/run fuzz/

# Standard output is for the figures.
bench: setup
	$(Q)$(MAKE) --no-print-directory $(B)/kphi $(B)/tools/bench >&2
	$(Q)tools/bench

OURS := $(wildcard include/kphi/*.h bpf/*.[ch] user/*.[ch] user/*/*.[ch] tests/*/*.[ch] tools/*.[ch] tools/*.d/*.[ch])

lint: $(GENERATED)
	$(Q)tools/lint

format:
	$(Q)clang-format -i $(OURS)

PREFIX ?= /usr/local

install: all
	$(Q)install -D -m 0755 $(B)/kphi $(DESTDIR)$(PREFIX)/sbin/kphi

uninstall:
	$(Q)rm -f $(DESTDIR)$(PREFIX)/sbin/kphi

clean:
	$(call say,CLEAN,$(B))
	$(Q)rm -rf $(B)

-include $(shell find $(B)/obj $(B)/asan $(B)/fuzz $(B)/bpf -name '*.d' -type f 2>/dev/null)
