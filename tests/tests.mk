# Tests.  Every program prints its own results; tests/run adds them up.
#
#     make test-units   make test-scenarios   make conformance   make sim SEEDS=1000
#     make test-crash   make torture-crash   make story MINUTES=60   make test-postgres   make torture-pg

TESTPKGS := check
TESTLIBS = $(shell pkg-config --libs $(TESTPKGS))
# What one program needs beyond that; WRAP lets it count allocations and make them fail.
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# Modules link nothing of ours: the program that loads them has everything.
ALL.test_examples := -Wl,--whole-archive
LIBS.test_jansson := -ljansson
LIBS.test_sqlite_open := -Wl,--wrap=fsync,--wrap=statfs,--wrap=statvfs,--wrap=sqlite3_backup_init
LIBS.test_sqlite_fetch := -Wl,--wrap=realloc
LIBS.test_client_memory := $(WRAP)
LIBS.test_jsonl := -Wl,--wrap=fdatasync,--wrap=fsync,--wrap=rename
LIBS.test_pg_open := -Wl,--wrap=dlopen
LIBS.test_pg_clock := -Wl,--wrap=clock_wall_ms
$(foreach t,buf vec map heap json httpd,$(eval LIBS.test_$(t) := $(WRAP)))
LIBS.test_httpd += -Wl,--wrap=send,--wrap=sendmsg,--wrap=gnutls_init,--wrap=http_tls_free
# The disk in memory: file calls of our objects, and what the stories there watch.
DISK := $(foreach f,open close fsync unlink rename access stat fstat chmod mkdir statfs statvfs flock \
          ftruncate pread pwrite posix_fallocate mmap munmap activity_run sqlite3_exec sqlite3_prepare_v2,-Wl,--wrap=$(f))
$(foreach t,power errors alloc,$(eval LIBS.test_$(t) = $$(DISK))$(eval EXTRA.test_$(t) := tests/windows/flows.c))
# tests/<group>/test_<name>.c is a program; other .c files there are shared by the group.
TESTSRC  := $(wildcard tests/*/test_*.c)
TESTBIN  := $(TESTSRC:tests/%.c=$(B)/tests/%)

# An archive, so that a program with a main of its own does without it.
$(B)/tests/libharness.a: $(B)/obj/tests/harness.o $(B)/obj/tests/scratch.o
	@mkdir -p $(@D) && rm -f $@
	$(AR) rcs $@ $^

# The conformance suite, for people who write a store.  One object with what it needs of the library's
# inside, whose only global names are the public ones of pawl/conformance.h.
SUITEOBJ := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/conformance/suite/*.c src/store/fault/*.c))
ARCHIVES.conformance := $(B)/libpawl-conformance.a

$(B)/libpawl-conformance.a: $(SUITEOBJ) $(B)/obj/libpawl-all.a
	@rm -f $@
	$(LD) -r $^ -o $(B)/obj/conformance.o
	objcopy -w --keep-global-symbol='pawl_conformance*' $(B)/obj/conformance.o
	$(AR) rcs $@ $(B)/obj/conformance.o

define test_program
$(B)/tests/$(1): $(B)/obj/tests/$(1).o \
        $(patsubst %.c,$(B)/obj/%.o,$(filter-out tests/$(dir $(1))test_%,$(wildcard tests/$(dir $(1))*.c)) $(EXTRA.$(notdir $(1)))) \
        $(ARCHIVES.$(patsubst %/,%,$(dir $(1)))) $(B)/tests/libharness.a $(B)/obj/libpawl-all.a
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -rdynamic $$(filter %.o,$$^) $$(ALL.$(notdir $(1))) $$(filter %.a,$$^) \
	    -Wl,--no-whole-archive $$(TESTLIBS) $$(LIBS.$(notdir $(1))) $$(MAINLIBS) $$(LDLIBS) -o $$@
endef
$(foreach t,$(TESTSRC:tests/%.c=%),$(eval $(call test_program,$(t))))

test-units: $(filter $(B)/tests/unit/%,$(TESTBIN))
	@tests/run $^
test-replay: $(filter $(B)/tests/replay/%,$(TESTBIN))
	@B=$(B) tests/run $^ tests/replay/random
conformance: $(filter $(B)/tests/conformance/%,$(TESTBIN))
	@tests/run $^
test-scenarios: $(filter $(B)/tests/scenario/%,$(TESTBIN)) | $(EXAMPLES:%=$(B)/examples/%.so)
	@tests/scenario/check-ids
	@tests/run $^

# The PostgreSQL store, on a server that tests/postgres/cluster starts.  A sample; all of it: torture-pg.
PGTESTS := $(filter $(B)/tests/postgres/%,$(TESTBIN))
test-postgres: $(PGTESTS) $(filter $(B)/tests/conformance/% $(B)/tests/scenario/%,$(TESTBIN)) \
        | $(EXAMPLES:%=$(B)/examples/%.so)
	@B=$(B) tests/postgres/cluster tests/postgres/postgres
torture-pg: $(PGTESTS)
	@B=$(B) PAWL_PG_FULL=1 PAWL_TEST_TIMEOUT=1800 tests/postgres/cluster tests/postgres/postgres
.PHONY: test-postgres torture-pg

# The simulation: a program with a main of its own.
SEEDS ?= 2000
SIMOBJ := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/sim/*.c))

$(B)/tests/sim/pawl-sim: $(SIMOBJ) $(B)/obj/libpawl-all.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -rdynamic $^ $(WRAP),--wrap=abort $(LDLIBS) -o $@

sim: $(B)/tests/sim/pawl-sim
	@tests/run "$< --jobs 2 --seeds 1..$(SEEDS) --regress tests/sim/regress" \
	    "$< --store sqlite --seeds 1..$$(($(SEEDS) / 40 + 1))" \
	    "$< --store jsonl --seeds 1..$$(($(SEEDS) / 4 + 1))" \
	    "$< --store far --seeds 1..$$(($(SEEDS) / 4 + 1))"

# Every crash window of every flow, on every store, without a process to kill.
test-windows: $(filter $(B)/tests/windows/%,$(TESTBIN))
	@tests/run $^

# Power losses, failing operations and failing allocations, on a disk in memory.  A sample;
# all of it: torture-power, torture-alloc.
VFS := $(B)/tests/vfs
test-power: $(VFS)/test_power $(VFS)/test_errors
	@tests/run $^
test-alloc: $(VFS)/test_alloc all
	@B=$(B) tests/run $< tests/outside/outside
# The part that goes with any build: V=asan sees what is used after it was freed.
test-alloc-disk: $(VFS)/test_alloc
	@tests/run $<
torture-power: $(VFS)/test_power $(VFS)/test_errors
	@tests/run "$(VFS)/test_power --full" "$(VFS)/test_errors --full"
torture-alloc: $(VFS)/test_alloc all
	@B=$(B) tests/run "$< --full" "tests/outside/outside --full"
.PHONY: test-power test-alloc test-alloc-disk torture-power torture-alloc

# make torture HOURS=8 | MINUTES=10: simulation, power losses, kills, faults, fuzzing; build/torture.md.
TORTURE = $(shell awk 'BEGIN { print int(($(or $(HOURS),0)) * 3600 + (!length("$(HOURS)")) * $(MINUTES) * 60) }')
torture: all $(B)/tests/sim/pawl-sim $(VFS)/test_power $(VFS)/test_errors $(VFS)/test_alloc \
        $(addprefix $(B)/tests/crash/,test_kill test_points test_corrupt) $(B)/tests/unit/test_sqlite_damage
	@if command -v clang >/dev/null; then $(MAKE) --no-print-directory -s -k -j2 V=fuzz fuzz-build; fi
	@B=$(B) tests/torture/torture $(TORTURE)
.PHONY: torture

# kill -9, bad disks, bad bytes, with real processes.  A sample; all of it: torture-crash.
test-crash: $(filter $(B)/tests/crash/%,$(TESTBIN))
	@tests/run $^
torture-crash: $(filter $(B)/tests/crash/%,$(TESTBIN))
	@PAWL_CRASH_FULL=1 PAWL_TEST_TIMEOUT=1800 tests/run $^

.PHONY: test-units test-replay conformance test-scenarios sim test-windows test-crash torture-crash

# The binary from outside, and the documents as tests: scripts on a finished build.
test-cli: all
	@B=$(B) tests/run tests/cli/cli tests/cli/code tests/cli/top.py
# The verbs on a PostgreSQL store.
test-pg-verbs: all
	@B=$(B) tests/run "tests/postgres/cluster tests/postgres/verbs"
.PHONY: test-pg-verbs
# The part of it that tries authors' code; with V=asan it sees leaks.
test-code: all
	@B=$(B) tests/run tests/cli/code
test-docs: all
	@B=$(B) tests/run tests/docs/docs
# The headers, examples and option macros as C++.
test-cxx: all
	@B=$(B) tests/run tests/cxx/cxx
# make install and uninstall, and what is built against the result.
test-install: all $(B)/libpawl-conformance.a
	@tests/run tests/install/install
.PHONY: test-cxx test-install
# The page in a real browser: about a minute; screenshots in build/screenshots.
test-page: all
	@B=$(B) tests/run tests/page/page
.PHONY: test-page
test-http: all
	@B=$(B) tests/run tests/http/http
# The quick half of it; with V=asan it sees leaks, and what is used after it was freed; with V=tsan
# the locks of the server.
test-http-quick: all
	@B=$(B) tests/run "tests/http/http test_instances. test_queue. test_work. test_wire. test_ops. test_gone. test_overview."
# The binary in a hostile world: full disks, no descriptors, clocks that jump.
test-hostile: all
	@B=$(B) tests/run tests/hostile/hostile
# Clients made of /openapi.json, and schemathesis; the tools come from their registries by name.
test-clients: all
	@B=$(B) tests/run tests/clients/clients
.PHONY: test-clients
# Busy connections for a minute each way; test-http has three seconds of it.
test-stall: all
	@B=$(B) LOAD_SECONDS=60 tests/run "tests/http/http busy"
# `make run` in a fresh clone: everything is built.
test-fresh: all
	@FRESH=1 tests/run "tests/http/http make_run"

.PHONY: test-hostile test-cli test-code test-docs test-http test-http-quick test-stall test-fresh

# Valgrind: memory nobody wrote, which the sanitizers do not see, and leaks.  Quick programs,
# and the corpus of the fuzz targets: readers, the engine and stores on what is odd.
VALGRIND := valgrind -q --error-exitcode=9 --leak-check=full --trace-children=yes
GRINDUNITS := $(addprefix $(B)/tests/unit/test_,arena heap vec policy version queue_policy json_write)
GRINDFUZZ := json names history files cli replay jsonl store
test-valgrind: $(GRINDUNITS) $(GRINDFUZZ:%=$(B)/tests/fuzz/fuzz_%)
	@tests/run $(foreach t,$(GRINDUNITS),"$(VALGRIND) $(t)") \
	    $(foreach t,$(GRINDFUZZ),"$(VALGRIND) $(B)/tests/fuzz/fuzz_$(t) tests/fuzz/corpus/$(t)")

.PHONY: test-valgrind

# Hundreds of clients, the server killed every few seconds; report in build/story.md.
MINUTES ?= 1
story: all
	@B=$(B) tests/story/story --minutes $(MINUTES)
.PHONY: story

# kill -9 of the server and of workers that run orchestrations, with a ledger outside.
CYCLES ?= 10000
deaths: all
	@B=$(B) tests/story/deaths --cycles $(CYCLES)
.PHONY: deaths

# make mutants-random N=150 SEED=word   changes nobody chose; takes about half a minute each
N    ?= 150
SEED ?= 1
mutants-random:
	@tests/mutants/random --n $(N) --seed $(SEED)
.PHONY: mutants-random
# Guards removed one at a time: which test notices?  All of them take an hour; test-all tries some.
SOME ?= 60
mutants:
	@tests/mutants/run
mutants-some:
	@tests/mutants/run --some $(SOME)
.PHONY: mutants mutants-some

include tests/fuzz/fuzz.mk
