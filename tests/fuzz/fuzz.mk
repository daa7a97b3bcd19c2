# Fuzz targets, one per parser. Part of the Makefile at the top.
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))

$(FUZZ): $(B)/%: $(B)/%.o $(B)/tests/fuzz/replay.o $(TEST_LIBS) ; $(link-test)

# The corpus, and seeded mutations of it.
check-fuzz: $(FUZZ)
	@$(RUN) tests/fuzz/run replay $^

# With libFuzzer, guided by coverage: SECS=60 seconds each.
FUZZ_SECS := $(if $(filter file default undefined,$(origin SECS)),60,$(SECS))
fuzz:
	@tests/tools/deps build check clang
	+@$(MAKE) --no-print-directory CC=clang SAN=fuzzer-no-link,address,undefined fuzz-run SECS=$(FUZZ_SECS)
fuzz-run: $(FUZZ:%=%-guided)
	@$(RUN) tests/fuzz/run $(FUZZ_SECS) $^
$(FUZZ:%=%-guided): $(B)/%-guided: $(B)/%.o $(TEST_LIBS)
	$(call say,LD,$@)$(CC) $(CFLAGS) -fsanitize=fuzzer,address,undefined -pthread -o $@ $< \
	    -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)
.PHONY: check-fuzz fuzz fuzz-run
