# One file, no recursion.  Variants live side by side:
#
#     make            release build in build/        make run     set up, build, serve
#     make V=debug    in build/debug/                make test    set up, build, all tests
#     make V=asan test-units     one group, one variant           make help

V      ?= release
B      := $(if $(filter release,$(V)),build,build/$(V))
CC     ?= cc
PKGS   := sqlite3
MAINPKGS := gnutls
SHELL  := /bin/bash

ifeq ($(V),clang)
CC := clang
endif
ifeq ($(V),fuzz)
CC := clang
endif
ifeq ($(V),tsan)
CC := clang   # gcc 12's runtime does not follow fibers dropped while suspended
endif

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
        -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Walloca -Wundef \
        -Wformat=2 -Wswitch-enum -Wconversion -Wdouble-promotion -Wredundant-decls \
        -Wframe-larger-than=8192 -Werror
ifeq ($(findstring clang,$(CC)),)
WARN += -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wimplicit-fallthrough=5
endif

HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection
# Our own calls of public functions are ours: nobody puts another in their place.
FLAGS.release := -O2 -g -fno-semantic-interposition $(HARDEN)
# PAWL_CHECKED: invariants of the runtime are checked after every commit.
FLAGS.debug   := -O1 -g -DPAWL_CHECKED
FLAGS.asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS.fuzz    := $(FLAGS.asan) -fsanitize=fuzzer-no-link
FLAGS.tsan    := -O1 -g -fsanitize=thread
FLAGS.cov     := -O0 -g --coverage
FLAGS.clang   := -O1 -g

CFLAGS  += -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -MMD -MP -Iinclude -Isrc \
           $(WARN) $(FLAGS.$(V)) $(shell pkg-config --cflags $(PKGS))
LDFLAGS += $(filter -fsanitize% --coverage,$(FLAGS.$(V)))
LDLIBS  += $(shell pkg-config --libs $(PKGS)) -pthread -lm -ldl
MAINLIBS := $(shell pkg-config --libs $(MAINPKGS)) # of libpawl-main only

# What is missing is named here, not by the compiler.  `make run` and `make test` install it themselves.
needs = $(if $(shell $(1) >/dev/null 2>&1 && echo yes),,$(error $(2) is missing: run scripts/setup $(3) first))
OWN_GOALS  := run demo test test-all clean help uninstall format check-layers check-parts check-sizes check-faults check-words
TEST_GOALS := $(filter test-% conformance sim corpus fuzz% torture% mutants story lint check-headers check-format analyse%,$(MAKECMDGOALS))
ifneq ($(filter-out $(OWN_GOALS),$(or $(MAKECMDGOALS),all)),)
$(foreach p,$(PKGS) $(MAINPKGS),$(call needs,pkg-config --exists $(p),the development package of $(p),$(if $(TEST_GOALS),test,run)))
endif
ifneq ($(filter-out test-all,$(TEST_GOALS)),)
$(call needs,pkg-config --exists check,the test library check,test)
$(call needs,command -v $(firstword $(CC)),the compiler $(firstword $(CC)),test)
endif

# Rooms, lower first (tools/layers.txt says which room may include which).
ROOMS    := base schedule fair tables fiber engine queue store runtime trial
LIBSRC   := $(foreach r,$(ROOMS),$(wildcard src/$(r)/*.c src/$(r)/*/*.c))
MAINSRC  := $(wildcard src/view/*.c src/http/*.c src/server/*.c src/cli/*.c src/cli/*/*.c src/yardstick/*.c)
LIBOBJ   := $(LIBSRC:%.c=$(B)/obj/%.o)
MAINOBJ  := $(filter-out %/cli/pawl.o,$(MAINSRC:%.c=$(B)/obj/%.o)) $(B)/obj/web/files.o
WEB      := $(sort $(wildcard src/web/*))
EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))

# The library has its own structs: its calls need no sizes (PAWL_SIZED in pawl/types.h).
$(LIBOBJ): CFLAGS += -DPAWL_PLAIN

ABI := $(shell sed -n 's/^\#define PAWL_MODULE_ABI \([0-9]*\).*/\1/p' include/pawl/runtime.h)

all: $(B)/libpawl.a $(B)/libpawl.so $(B)/libpawl-main.a $(B)/pawl \
     $(EXAMPLES:%=$(B)/examples/%.so) $(EXAMPLES:%=$(B)/examples/%)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c $< -o $@

# The page, in the binary.  HOSTCC: the tool runs here, whatever the variant is built with.
HOSTCC ?= cc
$(B)/web/embed-web: tools/embed-web.c tools/embed-js.c tools/embed-join.c tools/embed.h
	@mkdir -p $(@D)
	$(HOSTCC) -O1 -Wall -Wextra -Werror $(filter %.c,$^) -o $@

$(B)/web/files.c: $(B)/web/embed-web $(WEB)
	$< $(@D) $(WEB) >$(B)/web/sizes

$(B)/obj/web/files.o: $(B)/web/files.c src/server/web_files.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c $< -o $@

# What we link ourselves sees everything; what others link has only public names
# (internal ones such as map_get would meet those of other libraries).
$(B)/obj/libpawl-all.a: $(LIBOBJ) $(MAINOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/libpawl.a: $(LIBOBJ)
	@rm -f $@
	$(LD) -r $^ -o $(B)/obj/libpawl.o
	objcopy --localize-hidden $(B)/obj/libpawl.o
	$(AR) rcs $@ $(B)/obj/libpawl.o

$(B)/libpawl.so: $(LIBOBJ)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libpawl.so.$(ABI) $^ $(LDLIBS) -o $@
	ln -sf libpawl.so $@.$(ABI)

$(B)/libpawl-main.a: $(MAINOBJ) $(filter $(B)/obj/src/base/% $(B)/obj/src/tables/%,$(LIBOBJ))
	@rm -f $@
	$(LD) -r $^ -o $(B)/obj/libpawl-main.o
	objcopy --keep-global-symbol=pawl_main $(B)/obj/libpawl-main.o
	$(AR) rcs $@ $(B)/obj/libpawl-main.o

# The binary exports every public pawl_* symbol: modules link nothing of ours.
$(B)/pawl: $(B)/obj/src/cli/pawl.o $(B)/obj/libpawl-all.a
	$(CC) $(LDFLAGS) -rdynamic $< -Wl,--whole-archive $(B)/obj/libpawl-all.a \
	    -Wl,--no-whole-archive $(MAINLIBS) $(LDLIBS) -o $@

# One source, two shapes.
$(B)/examples/%.so: examples/%.c $(wildcard include/*.h include/pawl/*.h)
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -DPAWL_AS_MODULE $(LDFLAGS) -shared $< -o $@

$(B)/examples/%: examples/%.c $(B)/libpawl-main.a $(B)/libpawl.a $(wildcard include/*.h include/pawl/*.h)
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -rdynamic $< -Wl,--whole-archive \
	    $(B)/libpawl-main.a $(B)/libpawl.a -Wl,--no-whole-archive $(MAINLIBS) $(LDLIBS) -o $@

include tests/tests.mk

# ---- Checks of the source itself -------------------------------------------

lint: check-layers check-parts check-pure check-headers check-format check-sizes check-faults check-words

check-layers:
	@tools/check-layers

check-parts:
	@tools/check-parts

check-pure: $(B)/libpawl.a
	@tools/check-pure $(B)

check-headers:
	@tools/check-headers

check-format:
	@clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')

check-sizes:
	@tools/check-sizes

check-faults:
	@tools/check-faults

check-words:
	@tools/check-words --self-test
	@tools/check-words

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

# make analyse         cppcheck, gcc -fanalyzer, clang-tidy (.clang-tidy says what for)
ANALYSED := $(LIBSRC) $(MAINSRC)
ANALYSE  := -std=gnu11 -D_GNU_SOURCE -DPAWL_PLAIN -Iinclude -Isrc
# Ownership that goes into a list or a map is a leak to gcc 12; LeakSanitizer knows better.
analyse: analyse-cppcheck analyse-gcc analyse-tidy
analyse-cppcheck:
	@cppcheck -q -j2 --enable=warning,portability --error-exitcode=1 --std=c11 -D_GNU_SOURCE -DPAWL_PLAIN \
	    -Iinclude -Isrc --suppress=missingIncludeSystem src
analyse-gcc:
	@printf '%s\n' $(ANALYSED) | xargs -P2 -I{} gcc $(ANALYSE) -O1 -fanalyzer -Werror \
	    -Wno-analyzer-malloc-leak -c {} -o /dev/null
analyse-tidy:
	@printf '%s\n' $(ANALYSED) | xargs -P2 -I{} clang-tidy --quiet {} -- $(ANALYSE) 2>/dev/null

# make install         PREFIX=/usr/local LIBDIR=$(PREFIX)/lib DESTDIR=: binary, libraries, headers, pawl.pc, pawl-main.pc, pawl.service
# make uninstall       with the same arguments: remove everything that install put there
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell sed -n 's/^\#define PAWL_VERSION "\(.*\)"/\1/p' include/pawl/types.h)
ARCHIVES := libpawl.a libpawl-main.a libpawl-conformance.a
SHARED   := libpawl.so.$(VERSION) libpawl.so.$(ABI) libpawl.so
INSTALLED = $(PREFIX)/bin/pawl $(addprefix $(LIBDIR)/,$(ARCHIVES) $(SHARED) pkgconfig/pawl.pc pkgconfig/pawl-main.pc) \
            $(addprefix $(PREFIX)/,include/pawl.h $(wildcard include/pawl/*.h) $(UNIT))
UNIT = lib/systemd/system/pawl.service

install: all $(B)/libpawl-conformance.a
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBDIR)/pkgconfig $(PREFIX)/include/pawl $(dir $(PREFIX)/$(UNIT)))
	install -m 755 $(B)/pawl $(DESTDIR)$(PREFIX)/bin/pawl
	install -m 644 $(addprefix $(B)/,$(ARCHIVES)) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(B)/libpawl.so $(DESTDIR)$(LIBDIR)/libpawl.so.$(VERSION)
	ln -sf libpawl.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libpawl.so.$(ABI)
	ln -sf libpawl.so.$(ABI) $(DESTDIR)$(LIBDIR)/libpawl.so
	install -m 644 include/pawl.h $(DESTDIR)$(PREFIX)/include/
	sed 's,/usr/local/,$(PREFIX)/,' scripts/pawl.service > $(DESTDIR)$(PREFIX)/$(UNIT)
	install -m 644 include/pawl/*.h $(DESTDIR)$(PREFIX)/include/pawl/
	for pc in pawl pawl-main; do \
	    sed 's,@prefix@,$(PREFIX),;s,@libdir@,$(LIBDIR),;s,@version@,$(VERSION),g' tools/$$pc.pc.in \
	        > $(DESTDIR)$(LIBDIR)/pkgconfig/$$pc.pc; done

uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/include/pawl
	-cd $(DESTDIR)$(PREFIX) && rmdir -p --ignore-fail-on-non-empty $(dir $(UNIT))

# The figures we keep, beside their targets; writes bench/RESULTS.md.  On a quiet machine.
bench: all
	@bench/run

# make bench-peers    measure other engines beside Pawl (see bench/peers/run); ROUNDS=3 SECONDS_EACH=3 WORDS=
bench-peers: all
	@B=$(B) bench/peers/run $(WORDS)

# make bench-instructions   count instructions per operation (callgrind); CHECK=1: fail if one grew
$(B)/bench/instructions: bench/instructions.c $(B)/obj/libpawl-all.a
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) $^ $(MAINLIBS) $(LDLIBS) -o $@
bench-instructions: all $(B)/bench/instructions
	@B=$(B) CHECK=$(CHECK) bench/instructions $(WORDS)

# ---- The two commands -------------------------------------------------------

# make run             serve the examples on 127.0.0.1:8000 (PORT=8001 for another port) until
#                      Ctrl-C or SIGTERM; the next run continues with the data in ./pawl-data
run:
	@scripts/setup run
	@$(MAKE) --no-print-directory -j2 all >/dev/null
	@B=$(B) scripts/run

# On a signal make itself ends with 130 or 143, even if the recipe ended well; tools/gentle.c prevents that.
ifeq ($(MAKECMDGOALS),run)
-load $(B)/obj/gentle.so
$(B)/obj/gentle.so: tools/gentle.c
	@scripts/setup run
	@mkdir -p $(@D)
	@$(CC) -O1 -Wall -Wextra -Werror -shared -fPIC $< -o $@
endif

# make demo            show an order that survives a kill -9 in the middle
demo:
	@scripts/setup run
	@$(MAKE) --no-print-directory -j2 all >/dev/null
	@B=$(B) scripts/demo

test:
	@scripts/setup test
	@tests/all

# make test-all        run everything: all variants, analysers, valgrind, mutants, torture
test-all:
	@scripts/setup test
	@tests/all --full

clean:
	rm -rf build

help:
	@sed -n 's/^# \{0,1\}\(make.*\)/\1/p;s/^#     \(make.*\)/\1/p' Makefile tests/tests.mk

.PHONY: all lint check-layers check-parts check-pure check-headers check-format check-sizes check-faults check-words format run demo \
        test test-all bench bench-peers bench-instructions analyse analyse-cppcheck analyse-gcc analyse-tidy install uninstall clean help
.SECONDARY:
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
