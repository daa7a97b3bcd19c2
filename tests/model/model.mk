# Models: each program is one model, linked with the explorer and with real sources of
# libvolt, all compiled with -DVOLT_MCX. Never sanitized: the explorer switches stacks.
# Functions that a model does not reach are left out, and so need nothing to link with.
#
#   make check-model         quick bounds, half a minute
#   make check-model-compare whether the search leaves out only what it may; with rc11
#   make model               three preemptions, in about DEEP_SECONDS
#   make mutants             every mutant of mutants.txt must be found; MUTANTS='ID...'
#   make weaken              every memory order one step weaker; WEAKEN='FILE...'
#   make check-model-rc11    random programs: does the explorer show what RC11 allows?
#   make check-model-spin    the idle protocol in spin (package spin); SPIN_WORKERS=3 for more
#
# MODEL_<name> lists the real sources of the model tests/model/<name>.c.
MODEL_litmus :=
MODEL_lock   :=
MODEL_fair_lock :=
MODEL_ring   := lib/sched/ring.c
MODEL_inject := lib/sched/inject.c
MODEL_idle   := lib/sched/idle.c lib/sched/park.c
MODEL_slab   := lib/task/slab.c
MODEL_sched  := $(addprefix lib/sched/,worker.c search.c hold.c scope.c submit.c events.c ring.c inject.c \
                idle.c park.c global_interval.c live.c sentinel.c) \
                $(addprefix lib/task/,task.c join.c cx.c alloc.c slab.c leaves.c join_set.c)
MODEL_scope  := $(MODEL_sched)
MODEL_hold   := $(MODEL_sched)
TASK_SRC     := lib/sched/worker.c lib/sched/live.c $(addprefix lib/task/,task.c join.c cx.c alloc.c slab.c leaves.c join_set.c)
MODEL_task   := $(TASK_SRC)
MODEL_sem    := $(TASK_SRC) lib/sync/sem.c
MODEL_mutex  := $(MODEL_sem) lib/sync/mutex.c lib/sync/rwlock.c
MODEL_notify := $(TASK_SRC) lib/sync/notify.c lib/sync/oneshot.c
MODEL_join_set := $(TASK_SRC)
MODEL_wait_group := $(TASK_SRC) lib/sync/wait_group.c lib/sync/broadcast.c
MODEL_channel := $(TASK_SRC) lib/sync/channel.c
MODEL_pool   := $(TASK_SRC) lib/runtime/pool.c
MODEL_driver := $(TASK_SRC) $(addprefix lib/driver/,driver.c wheel.c registration.c) lib/io/sleep.c
MODEL_runtime := $(MODEL_sched) $(addprefix lib/driver/,driver.c wheel.c registration.c) \
                lib/io/sleep.c $(addprefix lib/runtime/,runtime.c spawn.c stats.c block.c dump.c)
SUPPORT_runtime := tests/model/loop_stub.c
SUPPORT_driver := tests/model/executor.c tests/model/loop_stub.c
SUPPORT_sem  := tests/model/executor.c
SUPPORT_mutex := tests/model/executor.c
SUPPORT_join_set := tests/model/executor.c
SUPPORT_wait_group := tests/model/executor.c
SUPPORT_channel := tests/model/executor.c
SUPPORT_pool := tests/model/executor.c
SUPPORT_notify := tests/model/executor.c
SUPPORT_task := tests/model/executor.c
SUPPORT_sched := tests/model/no_driver.c
SUPPORT_scope := tests/model/no_driver.c
SUPPORT_hold := tests/model/no_driver.c

MODELS   := $(patsubst MODEL_%,%,$(filter MODEL_%,$(.VARIABLES)))
MB       := build/model
MCX_SRC  := $(sort $(wildcard tests/model/mcx_*.c)) # mcx_zone.c is the last
MODEL_CC  = $(CC) $(CSTD) $(MODEL_OPT) -g -U_FORTIFY_SOURCE -ffunction-sections $(WARN) $(INC) -DVOLT_MCX $(MODEL_LIMITS) -Itests/model \
            -pthread -MMD -MP
MODEL_OPT := -O2
$(MB)/tests/model/mcx_%.o: MODEL_OPT := -O3
mcx_obj   = $(patsubst %.c,$(MB)/%.o,$(1))

# Small capacities, so that every edge is near.
MODEL_LIMITS := -DRING_CAPACITY=4 -DFORKS_CAPACITY=2 -DCHILDREN_MOST=2 -DSCOPE_DEPTH=2 -DLIFO_CAP=1 -DINJECT_BATCH_MIN=1 -DINJECT_BATCH=2 \
                -DINJECT_BATCH_MAX=2 -DSEM_SPIN_MIN=1 -DSEM_SPIN_FIRST=1 -DSEM_SPIN_MAX=4 -DSEM_BACKOFF=1 -DSEM_BACKOFF_MOST=1 -DSEM_STEPS=4 \
                -DINJECT_TRIES=1 -DINJECT_LISTS=2 -DSLAB_FIRST=256 -DSLAB_MOST=256 -DSLAB_OUTSIDE=1 \
                -DSLAB_BATCH=2 -DSLAB_KEEP=2 -DSLAB_TRIM=2 -DSENTINEL_LINGER=1 -DSTEAL_PASSES=2 \
                -DPASS_PAUSES=1 -DSPIN_LOOK=1 -DSPIN_LOOKS=2 -DCOME_PAUSES=1 -DWHEEL_TICK_USEC=100 -DWHEEL_LEVELS=2 \
                -DWHEEL_PORTION=1 -DGATHER_USEC=200 -DTAIL_BACKOFF=0 -DIDLE_MAX_WORKERS=mcx_group_size

# Sources under test take their memory from the explorer.
$(MB)/lib/%.o: lib/%.c Makefile tests/model/model.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)$(MODEL_CC) -include mcx_alloc.h -c -o $@ $<
$(MB)/tests/model/%.o: tests/model/%.c Makefile tests/model/model.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)$(MODEL_CC) -c -o $@ $<

define model_program
$(MB)/$(1): $(call mcx_obj,$(MCX_SRC) tests/model/$(1).c $(SUPPORT_$(1)) $(MODEL_$(1)))
	$$(call say,LD,$$@)$$(CC) -g -pthread -Wl,--gc-sections -o $$@ $$^
endef
$(foreach m,$(MODELS),$(eval $(call model_program,$(m))))

# The explorer without its command line; what comes after mcx_zone.o is what it runs.
FUZZ_OBJ := $(call mcx_obj,$(filter-out %/mcx_main.c,$(MCX_SRC)) tests/model/rc11.c tests/model/rc11_fuzz.c)
FUZZ_OBJ := $(filter-out %/mcx_zone.o,$(FUZZ_OBJ)) $(filter %/mcx_zone.o,$(FUZZ_OBJ)) \
            $(call mcx_obj,tests/model/rc11_run.c)
$(MB)/rc11_fuzz: $(FUZZ_OBJ)
	$(call say,LD,$@)$(CC) -g -pthread -Wl,--gc-sections -o $@ $^

check-model: $(addprefix $(MB)/,$(MODELS))
	@tests/model/covered
	@tests/model/run $(filter $(MB)/%,$^)
check-model-compare: $(addprefix $(MB)/,$(MODELS)) check-model-rc11
	@tests/model/run --compare $(filter $(MB)/%,$^)
RC11_SECONDS ?= 10
check-model-rc11: $(MB)/rc11_fuzz
	@$< --seconds $(RC11_SECONDS) $(if $(SEED),--seed $(SEED))
# Within ten minutes: the last scenarios may take a little longer than what is left.
DEEP_SECONDS ?= 590
model: $(addprefix $(MB)/,$(MODELS))
	@tests/model/run --within $(DEEP_SECONDS) $^
mutants: $(addprefix $(MB)/,$(MODELS))
	@$(PYTHON) tests/model/mutants.py $(MUTANTS)
weaken: $(addprefix $(MB)/,$(MODELS))
	@$(PYTHON) tests/model/weaken.py $(WEAKEN)
check-model-spin:
	@tests/model/spin/run $(SPIN_WORKERS)
.PHONY: check-model-compare check-model-spin check-model-rc11 check-model model mutants weaken

-include $(shell find $(MB) -name '*.d' 2>/dev/null)
