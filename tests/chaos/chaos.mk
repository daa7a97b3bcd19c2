# The chaos suite: kills, stops, crash points, injected faults, and a judge with ledgers.
#
#   make check-chaos [SEED=S]     short and seeded, part of `make check`
#   make chaos SECS=600 [SEED=S]  long; the last line is the result
#   make soak SECS=3600 [SEED=S]  one voltd all the time; the last line is the result
#
# Crash points need a build of their own (CHAOS=1), which the plain variant makes on the way.
SECS ?= 600
SEED ?=
CHAOS_JOB := $(B)/tests/chaos/ledger-job
CHAOS_PRELOADS := $(B)/tests/chaos/faults.so $(B)/tests/chaos/recorder.so
CHAOS_DUMP := $(B)/tests/chaos/store-dump

$(CHAOS_JOB): tests/chaos/ledger_job.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CSTD) -O2 -g $(WARN) -static -o $@ $<

$(CHAOS_DUMP): $(B)/tests/chaos/store_dump.o $(TEST_LIBS) ; $(link-test)

$(CHAOS_PRELOADS): $(B)/tests/chaos/%.so: tests/chaos/%.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CSTD) -O2 -g $(WARN) -Wno-missing-prototypes -fPIC -shared -o $@ $< -ldl

CHAOS_NEEDS := $(CHAOS_JOB) $(CHAOS_PRELOADS) $(CHAOS_DUMP) $(if $(SAN),,chaos-build)
chaos-build:
	+@$(MAKE) --no-print-directory CHAOS=1 SAN= all

check-chaos: all $(CHAOS_NEEDS)
	@VOLT_CHAOS_SEED=$(or $(SEED),1) $(RUN) tests/chaos/run $(PYTHON)
chaos: all $(CHAOS_NEEDS)
	@$(RUN) tests/chaos/chaos --secs $(SECS) $(if $(SEED),--seed $(SEED))
soak: all $(CHAOS_NEEDS)
	@$(RUN) tests/chaos/soak --secs $(SECS) $(if $(SEED),--seed $(SEED))
coverage-keeper: all $(CHAOS_NEEDS)
	+@tests/chaos/coverage-keeper
.PHONY: chaos-build check-chaos chaos soak coverage-keeper
