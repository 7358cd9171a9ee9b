# Fuzz targets (docs/internals/fuzz.md).
#
#     make corpus       committed inputs through every fuzz target
#     make fuzz SECONDS=60      search with each target for so long

FUZZ    := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZBIN := $(FUZZ:%=$(B)/tests/fuzz/fuzz_%)
# What a target uses of other groups.
FUZZOBJ.store    := $(addprefix $(B)/obj/tests/conformance/,differ.o world.o dump.o stores.o plain_files.o server_schema.o) \
                    $(B)/obj/tests/scratch.o
FUZZOBJ.database := $(B)/obj/tests/fuzz/used.o
FUZZOBJ.rows     := $(FUZZOBJ.database)
FUZZOBJ.jsonl    := $(FUZZOBJ.database)
# The search needs libFuzzer's main, the corpus ours.
FUZZMAIN := $(if $(filter fuzz,$(V)),,$(B)/obj/tests/fuzz/replay.o)
FUZZLINK := $(if $(filter fuzz,$(V)),-fsanitize=fuzzer)

define fuzz_target
$(B)/tests/fuzz/fuzz_$(1): $(B)/obj/tests/fuzz/fuzz_$(1).o $(B)/obj/tests/fuzz/fuzz.o $(FUZZMAIN) \
        $$(FUZZOBJ.$(1)) $(B)/obj/libpawl-all.a
	@mkdir -p $$(@D)
	$$(CC) $$(filter-out %-no-link,$$(LDFLAGS)) $(FUZZLINK) -rdynamic $$(filter %.o,$$^) $$(filter %.a,$$^) \
	    $$(MAINLIBS) $$(LDLIBS) -o $$@
endef
$(foreach t,$(FUZZ),$(eval $(call fuzz_target,$(t))))

corpus: $(FUZZBIN)
	@tests/run $(foreach t,$(FUZZ),"$(B)/tests/fuzz/fuzz_$(t) tests/fuzz/corpus/$(t)")

SECONDS ?= 60
fuzz:
	@$(MAKE) --no-print-directory -s -j2 V=fuzz fuzz-build
	@tests/fuzz/run $(SECONDS) $(FUZZ)
fuzz-build: $(FUZZBIN)

.PHONY: corpus fuzz fuzz-build
