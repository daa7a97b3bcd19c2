# The simulator: the real daemon, one thread, virtual time, a world that fails. Part of the Makefile
# at the top. What voltd calls of the system is replaced by the linker.
SIM      := $(B)/tests/sim/sim
SIM_WRAP := malloc calloc realloc reallocarray strdup clock_gettime fair_unlock close fsync \
            malloc_trim siphash_key_random sendmsg inotify_add_watch kill core_post job_update attempt_step \
            clocks_init clocks_fini clocks_arm clocks_poll admission_lend deadlock_of_lease \
            deadlock_of_wait deadlock_of_edit

$(SIM): LDFLAGS += $(SIM_WRAP:%=-Wl,--wrap=%)
$(SIM): $(call obj,$(wildcard tests/sim/*.c)) $(TEST_LIBS) ; $(link-test)

# Scripts of calls to a store and to a keeper, on the real ones and on those of the simulator: they are to
# answer alike.
SCRIPTS := $(addprefix $(B)/tests/sim/scripts/,store_sqlite store_sim keeper_real keeper_sim)
SIM_PARTS = $(call obj,$(addprefix tests/sim/,world.c executor.c $(1)))
$(B)/tests/sim/scripts/%_sim: LDFLAGS += $(filter-out %=core_post %=job_update %=admission_lend %=deadlock_of_lease %=deadlock_of_wait %=deadlock_of_edit %=attempt_step %=sendmsg %=inotify_add_watch %=kill,$(SIM_WRAP:%=-Wl,--wrap=%))
$(B)/tests/sim/scripts/keeper_sim: LDFLAGS += -Wl,--wrap=kill
$(B)/tests/sim/scripts/store_sqlite: LDFLAGS += -Wl,--wrap=fsync -Wl,--wrap=fdatasync
$(B)/tests/sim/scripts/store_sqlite: $(call obj,tests/sim/scripts/script.c tests/sim/scripts/script_sqlite.c tests/sim/scripts/power.c tests/support/scratch.c) $(TEST_LIBS) ; $(link-test)
$(B)/tests/sim/scripts/store_sim: $(call obj,tests/sim/scripts/script.c tests/sim/scripts/script_sim.c) $(call SIM_PARTS,disk.c image.c) $(TEST_LIBS) ; $(link-test)
$(B)/tests/sim/scripts/keeper_real: $(call obj,tests/sim/scripts/keeper_script.c tests/sim/scripts/keeper_script_real.c $(SUPPORT_SRC)) $(TEST_LIBS) ; $(link-test)
$(B)/tests/sim/scripts/keeper_sim: $(call obj,tests/sim/scripts/keeper_script.c tests/sim/scripts/keeper_script_sim.c) $(call SIM_PARTS,keeper.c shims.c files.c) $(TEST_LIBS) ; $(link-test)

# Short, another seed each time; SEED=N repeats one, as many histories on every machine. make sim SECS=600 for long.
check-sim: $(SIM) $(SCRIPTS)
	@$(RUN) tests/sim/scripts/compare $(abspath $(B)) $(SEED) store store_sqlite store_sim 20
	@$(RUN) tests/sim/scripts/compare $(abspath $(B)) $(SEED) keeper keeper_real keeper_sim 20
	@$(RUN) $< --histories 1000 --secs 300 --seed $(SEED)
sim: $(SIM)
	@$(RUN) $< --secs $(SECS) --seed $(SEED) --all
# Mistakes that it must find: in how many seconds of the processor, by how many of SEEDS seeds.
SEEDS ?= 10
planted: all $(SIM)
	@tests/sim/planted --seeds $(SEEDS) $(MUTANTS)
.PHONY: check-sim sim planted
