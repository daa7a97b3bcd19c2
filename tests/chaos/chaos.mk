# The chaos suite: kills, stops, crash points, injected faults, and a judge with ledgers.
#
#   make check-chaos [SEED=S]     short, part of `make check`
#   make check-fault-random [SEED=S]  short, at moments that chance chooses
#   make chaos SECS=600 [SEED=S]  long; the last line is the result
#   make soak SECS=3600 [SEED=S]  one voltd all the time; the last line is the result
#   make power-cuts CUTS=1000 [SEED=S]  what a power cut may leave; the last line is the result
#
# Crash points need a build of their own (CHAOS=1), which the plain variant makes on the way.
SECS ?= 600
CHAOS_JOB := $(B)/tests/chaos/ledger-job
CHAOS_PRELOADS := $(B)/tests/chaos/faults.so $(B)/tests/chaos/recorder.so
CHAOS_DUMP := $(B)/tests/chaos/store-dump
CHAOS_END := $(B)/tests/chaos/record-end
# A voltd that makes records of version 1, locked by flock.
CHAOS_OLD := $(B)/tests/chaos/old/voltd

$(CHAOS_JOB): tests/chaos/ledger_job.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CSTD) -O2 -g $(WARN) -static -o $@ $<

$(CHAOS_DUMP): $(B)/tests/chaos/store_dump.o $(TEST_LIBS) ; $(link-test)
$(CHAOS_END): $(B)/tests/chaos/record_end.o $(TEST_LIBS) ; $(link-test)

$(B)/tests/chaos/old/record_make.o: daemon/link/record_make.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALLC) -DRECORD_VERSION_MADE=RECORD_VERSION_FLOCK -c -o $@ $<
$(CHAOS_OLD): $(call obj,daemon/main.c) $(B)/tests/chaos/old/record_make.o $(LIBD) $(LIBKEEPER) $(LIBWIRE) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)
-include $(B)/tests/chaos/old/record_make.d

$(CHAOS_PRELOADS): $(B)/tests/chaos/%.so: tests/chaos/%.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CSTD) -O2 -g $(WARN) -Wno-missing-prototypes -fPIC -shared -o $@ $< -ldl

CHAOS_NEEDS := $(CHAOS_JOB) $(CHAOS_PRELOADS) $(CHAOS_DUMP) $(CHAOS_END) $(CHAOS_OLD) chaos-build
# In a build with a sanitizer too: test_endure.py counts the memory of one without.
chaos-build: | all
	+@$(MAKE) --no-print-directory CHAOS=1 SAN= all

check-chaos: all $(CHAOS_NEEDS)
	@$(PYTEST) tests/chaos -m "not fault_random"
# Faults at moments that chance chooses: what is lost, run twice or invented is red, what is late is not.
check-fault-random: all $(CHAOS_NEEDS)
	@$(PYTEST) tests/chaos -m fault_random
chaos: all $(CHAOS_NEEDS)
	@$(RUN) tests/chaos/chaos --secs $(SECS) --seed $(SEED)
soak: all $(CHAOS_NEEDS)
	@$(RUN) tests/chaos/soak --secs $(SECS) --seed $(SEED)
power-cuts: all $(CHAOS_NEEDS)
	@$(RUN) $(PYTHON) tests/chaos/power.py --cuts $(or $(CUTS),1000) --seed $(SEED)
coverage-keeper: all $(CHAOS_NEEDS)
	+@tests/chaos/coverage-keeper
.PHONY: chaos-build check-chaos check-fault-random chaos soak power-cuts coverage-keeper
