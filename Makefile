# voltd and libvolt. `make help` lists the targets.
#
# Variants: SAN=address,undefined or SAN=thread; CHAOS=1 with crash points, its keeper
# linked dynamically so that faults can be preloaded; CC=gcc (default) or CC=clang.
# Objects, libraries and test programs of a variant go to build/<variant>/, its programs
# to build/<variant>/bin, those of the plain variant to build/bin. Sources are found by
# wildcard, a directory per layer; everything but the mains is in a library, so that tests
# link it. A program is built when its main is there.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += -r
# Two jobs unless somebody said otherwise (-j of the caller, or a parent make).
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j2
endif
# Compiler calls in full with V=1, otherwise a word and the file.
V   ?=
say  = $(if $(V),,@printf '%-4s %s\n' $(1) $(2);)

VERSION := 0.1.0
SOVERSION := 0
prefix  ?= /usr/local
CC      := gcc
AR      := ar
SAN     ?=
CHAOS   ?=
PYTHON  := /usr/bin/python3
comma   := ,
VARIANT := $(if $(findstring clang,$(CC)),clang-)$(if $(SAN),san-$(subst $(comma),-,$(SAN)),$(if $(CHAOS),chaos,plain))
B       := build/$(VARIANT)
# The build with crash points has objects of its own for the sources that name one alone.
PLAIN   := $(if $(CHAOS),$(B:%chaos=%plain),$(B))
CRASHES := $(if $(CHAOS),$(shell grep -rlE 'base/crash\.h|VOLT_CRASH_POINTS' lib daemon client --include='*.c'))
BIN     := $(if $(filter plain,$(VARIANT)),build/bin,$(B)/bin)

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
          -Wcast-qual -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Werror
# With -O1 the compiler sees less of what fits into a buffer.
CFLAGS ?= $(if $(SAN),-O1 -g1 $(if $(findstring clang,$(CC)),,-Wno-format-truncation -Wno-maybe-uninitialized),-O2 -g)
CSTD   := -std=c11 -D_GNU_SOURCE -DVOLT_VERSION='"$(VERSION)"'
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
            $(if $(findstring thread,$(SAN)),-DVOLT_TSAN)
INC    := -Ilib/include -Iclient/include -Ilib -I. -I$(PLAIN)/gen
ALLC   := $(CSTD) $(CFLAGS) $(WARN) $(SANFLAGS) $(INC) -fvisibility=hidden -fPIC -pthread -MMD -MP
# LINKED: what is linked into every program besides (tests/tools/coverage).
LINK    = $(call say,LD,$@)$(CC) $(CFLAGS) $(SANFLAGS) -pthread -Wl,--as-needed $(LDFLAGS) $(LINKED) -o $@

# Sources: one library per layer.
MAINS       := daemon/main.c daemon/keeper/main.c client/volt-submit.c client/volt-lock.c client/voltctl.c
LIBVOLT_SRC := $(wildcard $(addprefix lib/,base/*.c task/*.c sync/*.c driver/*.c sched/*.c runtime/*.c io/*.c))
WIRE_SRC    := $(wildcard lib/wire/*.c)
KEEPER_SRC  := $(filter-out $(MAINS),$(wildcard daemon/keeper/*.c))
DAEMON_SRC  := $(filter-out $(MAINS) $(KEEPER_SRC),$(wildcard daemon/*.c daemon/*/*.c))
CLIENT_SRC  := $(filter-out client/volt-%.c $(MAINS),$(wildcard client/*.c client/*/*.c))
SUPPORT_SRC := $(wildcard tests/support/*.c)
obj = $(patsubst %.c,$(B)/%.o,$(filter $(CRASHES),$(1))) $(patsubst %.c,$(PLAIN)/%.o,$(filter-out $(CRASHES),$(1)))

LIBVOLT   := $(B)/libvolt.a
LIBWIRE   := $(B)/libvoltwire.a
LIBKEEPER := $(B)/libvoltkeeper.a
LIBD      := $(B)/libvoltd.a
LIBCLIENT := $(B)/libvoltclient.a
SONAME    := libvolt.so.$(SOVERSION)
SHARED    := $(B)/libvolt.so $(B)/$(SONAME)
CLIENT_SO := libvoltclient.so.$(SOVERSION)
SHARED    += $(B)/libvoltclient.so $(B)/$(CLIENT_SO)

VOLTD_LIBS  := -ljansson -lsystemd -linih -lsqlite3 -lm
CLIENT_LIBS := -ljansson -lm

# Programs, each only where its main exists. voltd-keeper runs with privileges and is
# linked without jansson and libsystemd: reaching for one of them is a link
# error. It is static, because each job's shim is a fork of it: half the page tables to
# copy per fork. The clients are static as well: a quarter of a short call was the loader.
# Not in builds whose tests preload something.
STATIC   := $(if $(SAN)$(CHAOS),,-static-pie)
have     = $(if $(wildcard $(1)),$(BIN)/$(2))
CLIENTS  := $(patsubst client/%.c,$(BIN)/%,$(wildcard client/volt-*.c))
PROGRAMS := $(call have,daemon/main.c,voltd) $(call have,daemon/keeper/main.c,voltd-keeper) \
            $(CLIENTS) $(call have,client/voltctl.c,voltctl)

all: $(LIBVOLT) $(SHARED) $(LIBWIRE) $(LIBKEEPER) $(LIBD) $(LIBCLIENT) $(PROGRAMS)
	@:

$(PLAIN)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALLC) -c -o $@ $<
ifneq ($(CHAOS),)
$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALLC) -DVOLT_CRASH_POINTS -c -o $@ $<
endif

# The interface descriptions, as C string literals: `#include
# "org.voltd.jobs.varlink.inc"` in an initialiser of a char array.
IDL := $(wildcard daemon/method/*.varlink)
GEN := $(patsubst daemon/method/%,$(PLAIN)/gen/%.inc,$(IDL))
$(PLAIN)/gen/%.varlink.inc: daemon/method/%.varlink Makefile
	@mkdir -p $(@D)
	@sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $< >$@
$(call obj,$(DAEMON_SRC)): | $(GEN)

define archive
@mkdir -p $(@D); rm -f $@
$(call say,AR,$@)$(AR) rcs $@ $(filter %.o,$^)
endef
$(LIBVOLT): $(call obj,$(LIBVOLT_SRC)) ; $(archive)
$(LIBWIRE): $(call obj,$(WIRE_SRC)) ; $(archive)
$(LIBKEEPER): $(call obj,$(KEEPER_SRC)) ; $(archive)
$(LIBD): $(call obj,$(DAEMON_SRC)) ; $(archive)
$(LIBCLIENT): $(call obj,$(CLIENT_SRC)) ; $(archive)

$(B)/$(SONAME): $(call obj,$(LIBVOLT_SRC))
	@mkdir -p $(@D)
	$(LINK) -shared -Wl,-soname,$(SONAME) $(if $(SAN),,-Wl,-z,defs) $(filter %.o,$^)
$(B)/libvolt.so: $(B)/$(SONAME)
	@ln -sf $(SONAME) $@

# Its own functions alone are seen from outside.
$(B)/$(CLIENT_SO): $(call obj,client/library.c) $(LIBCLIENT) $(LIBWIRE) $(LIBVOLT)
	$(LINK) -shared -Wl,-soname,$(CLIENT_SO) -Wl,--exclude-libs,ALL $(if $(SAN),,-Wl,-z,defs) $< \
	    -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(CLIENT_LIBS)
$(B)/libvoltclient.so: $(B)/$(CLIENT_SO)
	@ln -sf $(CLIENT_SO) $@

$(BIN)/voltd: $(call obj,daemon/main.c) $(LIBD) $(LIBKEEPER) $(LIBWIRE) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)
$(BIN)/voltd-keeper: $(call obj,daemon/keeper/main.c) $(LIBKEEPER) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $(STATIC) $< $(filter %.a,$^)
$(CLIENTS) $(BIN)/voltctl: $(BIN)/%: $(PLAIN)/client/%.o $(LIBCLIENT) $(LIBWIRE) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $(STATIC) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(CLIENT_LIBS)

# ---- tests ----------------------------------------------------------------------------------
# Test programs link every library; tests/support/*.c, if any, is linked into all of them.
# ld.gold, where there is one, links each in half the time.
TEST_LIBS := $(LIBCLIENT) $(LIBD) $(LIBKEEPER) $(LIBWIRE) $(LIBVOLT)
GOLD      := $(if $(shell command -v ld.gold),-fuse-ld=gold)
define link-test
@mkdir -p $(@D)
$(LINK) $(GOLD) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS) -lcmocka
endef
# A room of the sources is a folder of tests/unit; programs have their names alone.
UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
UNIT     := $(patsubst %.c,$(B)/tests/unit/%,$(notdir $(UNIT_SRC)))
STRESS   := $(patsubst %.c,$(B)/%,$(wildcard tests/stress/*.c))
EXAMPLES := $(patsubst %.c,$(B)/%,$(wildcard lib/examples/*.c))

# Tests that count allocations, and make them fail: tests/support/alloc_hook.h.
WRAP := malloc calloc realloc aligned_alloc free mmap pthread_create eventfd timerfd_create epoll_create1
$(addprefix $(B)/tests/unit/,test_no_allocation test_out_of_memory test_hash_table test_idset test_postings test_index test_admit_memory test_each): LDFLAGS += $(WRAP:%=-Wl,--wrap=%)
# Those that make system calls fail as well: tests/support/call_hook.h.
WRAP_CALLS := $(WRAP) socket connect bind listen accept4 getsockopt open openat fcntl fstat unlink fchmod poll signalfd \
              inotify_init1 inotify_add_watch getrlimit read write pread preadv2 recv send recvmsg sendmsg syscall strdup reallocarray \
              fsync fdatasync ftruncate rename renameat unlinkat pwrite posix_fallocate opendir \
              posix_spawn posix_spawn_file_actions_init posix_spawn_file_actions_adddup2 posix_spawnattr_init
$(addprefix $(B)/tests/unit/,test_link_fails test_methods_fail test_spec_fails test_store_fails): LDFLAGS += $(WRAP_CALLS:%=-Wl,--wrap=%)
$(B)/tests/unit/test_sqlite_contents: LDFLAGS += -Wl,--wrap=contents_hash
$(B)/tests/unit/test_sqlite_keys: LDFLAGS += -Wl,--wrap=clock_gettime
$(B)/tests/unit/test_sqlite_memory: LDFLAGS += -Wl,--wrap=reallocarray -Wl,--wrap=calloc
$(addprefix $(B)/tests/unit/,test_sqlite_wal test_store_alive): LDFLAGS += -Wl,--wrap=fdatasync
$(B)/tests/unit/test_io: LDFLAGS += -Wl,--wrap=accept4
$(B)/tests/unit/test_cpus: LDFLAGS += -Wl,--wrap=sched_getaffinity
$(addprefix $(B)/tests/unit/,test_config test_queues): LDFLAGS += -Wl,--wrap=cpus_usable
$(B)/tests/unit/test_adopted_memory: LDFLAGS += -Wl,--wrap=calloc
$(B)/tests/unit/test_interned: LDFLAGS += -Wl,--wrap=malloc -Wl,--wrap=reallocarray -Wl,--wrap=strdup
$(B)/tests/unit/test_survivors: LDFLAGS += -Wl,--wrap=malloc -Wl,--wrap=reallocarray
$(B)/tests/unit/test_jobs_live: LDFLAGS += -Wl,--wrap=table_put
$(B)/tests/unit/test_attempt: LDFLAGS += -Wl,--wrap=grant_try
$(B)/tests/unit/test_refused_start: LDFLAGS += -Wl,--wrap=recover_start
$(B)/tests/unit/test_recover_stopping: LDFLAGS += -Wl,--wrap=recover_start -Wl,--wrap=volt_task_spawn
$(B)/tests/unit/test_trim_arrays: LDFLAGS += -Wl,--wrap=malloc_trim
$(B)/tests/unit/test_follow: LDFLAGS += -Wl,--wrap=inotify_init1
$(B)/tests/unit/test_keeper_start: LDFLAGS += -Wl,--wrap=shim_pool_start
$(addprefix $(B)/tests/unit/,test_keeper_activated test_keeper_dial): LDFLAGS += -Wl,--wrap=open
$(B)/tests/unit/test_keeper_signal: LDFLAGS += -Wl,--wrap=fork -Wl,--wrap=syscall
$(B)/tests/unit/test_methods: LDFLAGS += -Wl,--wrap=query_why
$(B)/tests/unit/test_journal: LDFLAGS += -Wl,--wrap=sysd_journal_send -Wl,--wrap=log_is_journal
$(B)/tests/unit/test_output: LDFLAGS += -Wl,--wrap=fcntl
$(B)/tests/unit/test_group: LDFLAGS += -Wl,--wrap=pthread_cond_signal
$(B)/tests/unit/test_store_names: LDFLAGS += -Wl,--wrap=fsync
$(B)/tests/unit/test_tree: LDFLAGS += -Wl,--wrap=syscall -Wl,--wrap=access

# Unit programs with one thread and no child: they fail by a defect alone, and the thread sanitizer
# has nothing to see in them. single.c ends one that is listed and starts a thread or a process.
include tests/unit/single.mk
$(SINGLE:%=$(B)/tests/unit/%): $(B)/tests/unit/single.o
$(SINGLE:%=$(B)/tests/unit/%): LDFLAGS += $(SINGLE_WRAP:%=-Wl,--wrap=%)

$(foreach s,$(UNIT_SRC),$(eval $(B)/tests/unit/$(basename $(notdir $s)): $(B)/$(s:.c=.o)))
$(UNIT): $(call obj,$(SUPPORT_SRC)) $(TEST_LIBS) ; $(link-test)
$(STRESS): $(B)/%: $(B)/%.o $(call obj,$(SUPPORT_SRC)) $(TEST_LIBS) ; $(link-test)
$(EXAMPLES): $(B)/%: $(B)/%.o $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< $(LIBVOLT)

# All that is random in the tests: another seed each time, and the one that failed with SEED=N.
ifeq ($(SEED),)
SEED := $(shell date +%s)
endif
export SEED

# What every run of a test gets. Under TSan the address layout is fixed: gcc 12's runtime
# gives up on kernels with more than 28 random bits. Sanitizers report into files of their
# own: what a daemon under test said would be lost otherwise. tests/run/checks shows them, and
# any report is a failure. AGAIN is the command that repeats a test, T=TEST after it.
REPORTS := $(abspath $(B))/reports
SANLOG  := log_path=$(REPORTS)/report:log_exe_name=1
AGAIN   ?= make $(if $(SAN),SAN=$(SAN) )$@
RUN = mkdir -p $(REPORTS); env VOLT_BIN=$(abspath $(BIN)) VOLT_BUILD=$(abspath $(B)) VOLT_SAN=$(SAN) AGAIN="$(AGAIN)" T="$(T)" PYTHONDONTWRITEBYTECODE=1 \
       ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:$(SANLOG) LSAN_OPTIONS=$(SANLOG) \
       UBSAN_OPTIONS=print_stacktrace=1:$(SANLOG) TSAN_OPTIONS=second_deadlock_stack=1:halt_on_error=1:$(SANLOG) \
       $(if $(findstring thread,$(SAN)),setarch -R)
EACH   = $(RUN) tests/run/each
PYTEST = $(RUN) $(PYTHON) tests/run/pytest

# T=NAME: one unit program, or those whose names have it in them; files of pytest, one test
# (FILE::TEST), or the tests whose names match.
UNITS  = $(or $(filter %/test_$(T:test_%=%),$(UNIT)),$(foreach u,$(UNIT),$(if $(findstring $(T),$(notdir $u)),$u)))
CHECKED_UNITS = $(if $(T),$(or $(UNITS),$(error no unit test has $(T) in its name)),$(if $(findstring thread,$(SAN)),$(filter-out $(SINGLE:%=$(B)/tests/unit/%),$(UNIT)),$(UNIT)))
check-unit: all $(CHECKED_UNITS)
	@$(EACH) --single "$(SINGLE)" unit $(CHECKED_UNITS)
check-stress: all $(STRESS)
	@$(EACH) -j 1 stress $(STRESS)
# For longer: SECS seconds in all, with each number of WORKERS; any build, SAN=thread
# above all.
SECS    ?= 600
WORKERS ?= 2 8 64
stress: all $(STRESS)
	@$(RUN) tests/stress/run $(SECS) "$(WORKERS)" $(STRESS)
check-examples: all $(EXAMPLES)
	@$(EACH) examples $(EXAMPLES)

# Integration in the plain build runs as a user without privileges, as users do, with nothing
# that helps who is late: heartbeats are an hour away, and a rescue by a sentinel is a failure.
# The programs have crash points, which nothing reaches; their keeper is linked dynamically.
# check-integration-here runs as whoever calls it, with the programs of the variant.
LATE ?=
ifeq ($(SAN)$(CHAOS),)
check-integration: all chaos-build
	@tests/tools/unprivileged $(MAKE) --no-print-directory CHAOS=1 LATE="heartbeats rescues" T='$(T)' PYTEST_ARGS='$(PYTEST_ARGS)' AGAIN='$(AGAIN)' integration
else
check-integration: check-integration-here
endif
check-integration-here: all
	+@$(MAKE) --no-print-directory integration
integration:
	@export VOLT_LATE="$(LATE)"; $(PYTEST) tests/integration $(if $(T),,-m "not alone") $(PYTEST_ARGS); status=$$?; \
	  $(if $(T),,$(PYTEST) tests/integration -m alone -n1 $(PYTEST_ARGS) || status=$$?;) exit $$status
.PHONY: check-integration-here integration
# What needs root, on the programs as they are shipped.
check-root: all
	@[ $$(id -u) = 0 ] || { echo "check-root: these tests speak as several users, which takes root"; exit 1; }
	@$(PYTEST) tests/integration -m needs_root
# Many restarts of a voltd that is not root, with jobs that wait: all outputs can be read.
RESTARTS ?= 1000
check-restarts: all
	@RESTARTS=$(RESTARTS) $(PYTEST) tests/integration/test_umask.py
check-layers:
	@tests/tools/check-layers --self-test
check-promises:
	@tests/tools/check-promises --self-test
# What kinds.def and claim_modes.def of daemon/job say to users, into the descriptions and volt-job(5).
spec:
	@tests/tools/check-spec --write
check-spec:
	@tests/tools/check-spec --self-test
	@tests/tools/check-page --self-test
check-mutants:
	@$(PYTHON) tests/mutants/operators.py --self-test
	@$(PYTHON) tests/tools/check-mutants
# Models are of the plain build: the explorer switches stacks, which sanitizers do not
# follow.
check-model:
-include tests/model/model.mk
-include tests/damage/damage.mk
-include tests/sim/sim.mk
-include tests/chaos/chaos.mk
-include tests/fuzz/fuzz.mk
-include tests/mutants/mutants.mk
# Lines and branches of daemon/ that unit tests and simulator reach, room by room; check-coverage
# fails where a room is below its bounds.
coverage: deps-coverage
	@tests/tools/coverage $(if $(FILES),--files)
check-coverage: deps-coverage
	@tests/tools/coverage --check
.PHONY: coverage check-coverage
check-install: all
	+@tests/tools/check-install $(abspath $(B))/install
# Clients and systems that are not ours: they need Go, and a VM.
check-clients: deps-clients all
	@$(RUN) tests/clients/run
# voltd and voltd-keeper with another version of their protocol, to upgrade to in the VM.
NEXT     := $(B)/next
NEXT_OBJ := $(patsubst %,$(NEXT)/%.o,daemon/link/keeper_dial daemon/keeper/server daemon/keeper/launch daemon/keeper/launch_encode)
$(NEXT_OBJ): $(NEXT)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALLC) -DKEEPER_VERSION=UINT32_C\(99\) -c -o $@ $<
$(NEXT)/voltd: $(call obj,daemon/main.c) $(NEXT_OBJ) $(LIBD) $(LIBKEEPER) $(LIBWIRE) $(LIBVOLT)
	$(LINK) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)
$(NEXT)/voltd-keeper: $(call obj,daemon/keeper/main.c) $(filter $(NEXT)/daemon/keeper/%,$(NEXT_OBJ)) $(LIBKEEPER) $(LIBVOLT)
	$(LINK) $(STATIC) $(filter %.o,$^) $(filter %.a,$^)
check-vm: deps-vm all $(NEXT)/voltd $(NEXT)/voltd-keeper
	+@tests/systemd/check-vm $(abspath $(B))/vm $(abspath $(NEXT))
# Cut at N moments, which SEED chooses, of a run of SECS.
check-vm-power: deps-vm all
	+@SEED=$(SEED) tests/systemd/check-vm-power $(abspath $(B))/vm

# ---- the gate, and what takes longer (.ci/README.md) ---------------------------------------------
CHECKER := $(PYTHON) tests/run/checks
LINTS   := check-layers check-promises check-spec check-mutants
CHECKS  := $(LINTS) check-unit check-sim $(if $(SAN),,check-model check-install check-benches) check-examples check-fuzz check-damage-part check-stress check-integration check-chaos
# WITHOUT: checks that are not wanted.
check: deps
	@$(MAKE) --no-print-directory all
	+@$(CHECKER) $(filter-out $(WITHOUT),$(CHECKS))
# For each commit: a part of the above, in two and a half minutes.
FAST := jobs submit output keys list waits locks after
check-fast: deps
	@$(MAKE) --no-print-directory all
	+@$(CHECKER) $(LINTS) check-unit check-integration-broad
check-integration-broad: all
	@$(PYTEST) $(FAST:%=tests/integration/test_%.py)
# Parts of the gate under sanitizers; .ci/run builds them beside the other tests.
ALONE := mkdir -p build && flock build/sanitized.lock true
check-asan:
	+@$(ALONE); $(MAKE) --no-print-directory SAN=address,undefined under-asan
under-asan: all
	+@$(CHECKER) check-unit check-fuzz
check-tsan:
	+@$(ALONE); $(MAKE) --no-print-directory SAN=thread under-tsan
under-tsan: all
	+@$(CHECKER) check-unit check-stress
# What they will run, built beside what waits.
sanitized:
	+@$(MAKE) --no-print-directory SAN=address,undefined tests-built
	+@$(MAKE) --no-print-directory SAN=thread tests-built
tests-built: all $(CHECKED_UNITS) $(if $(findstring thread,$(SAN)),$(STRESS),$(FUZZ))
.PHONY: check-fast check-integration-broad check-root check-asan under-asan check-tsan under-tsan sanitized tests-built

# Everything, in parts that can be resumed; hours. SHARE=1/10: what is random for a tenth of its length.
SHARE ?= 1
check-deep: deps deps-clang
	+@$(PYTHON) tests/run/deep --share $(SHARE) $(PARTS)
# Process-bound suites again and again, with new seeds, beside 0, 2 and 4 busy loops.
MINUTES ?= 60
check-repeat: deps
	+@$(PYTHON) tests/run/repeat --minutes $(MINUTES)
# One test again and again beside busy loops: TEST="make check-unit T=test_x", as a failure prints it.
check-flaky:
	+@$(PYTHON) tests/run/repeat --times $(or $(N),50) --test "$(TEST)"
check-clang:
	+@$(MAKE) --no-print-directory CC=clang check

# Late is a failure, in the build with crash points: heartbeats an hour away, so that what
# only a heartbeat wakes hangs; sentinels on their watch, with nothing for them to rescue; and
# no early start, StartAhead=0, chaos as well.
check-late-starts:
	+@$(MAKE) --no-print-directory CHAOS=1 SAN= late-starts
late-starts: all $(CHAOS_NEEDS)
	@VOLT_LATE=starts $(PYTEST) tests/integration
	@VOLT_LATE=starts $(PYTEST) tests/chaos
# Each program late, now and then, in whatever another may wait for; in the build whose programs
# are linked dynamically.
LATE_SO := $(B)/tests/late/late.so
$(LATE_SO): tests/late/late.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CSTD) -O2 -g $(WARN) -Wno-missing-prototypes -fPIC -shared -o $@ $< -ldl
check-late-programs:
	+@$(MAKE) --no-print-directory CHAOS=1 SAN= late-programs
late-programs: all $(LATE_SO) $(CHAOS_NEEDS)
	@$(RUN) tests/tools/late $(LATE_SO) $(PYTHON) tests/run/pytest tests/integration
	@$(RUN) tests/tools/late $(LATE_SO) $(PYTHON) tests/run/pytest tests/chaos
.PHONY: check-deep check-repeat check-flaky check-clang check-late-starts late-starts check-late-programs late-programs

include bench/bench.mk
demo: deps-demo
	@$(MAKE) --no-print-directory all
	@$(RUN) bench/demo.sh

.PHONY: all spec check check-unit check-stress stress check-examples check-integration check-restarts check-layers check-promises check-spec check-mutants check-model check-install \
        check-clients check-vm check-vm-power demo

# ---- packages -------------------------------------------------------------------------------
deps:
	@tests/tools/deps build check $(if $(findstring clang,$(CC)),clang)
deps-%:
	@tests/tools/deps build $*
.PHONY: deps

# ---- installation ---------------------------------------------------------------------------
bindir     := $(prefix)/bin
libdir     := $(prefix)/lib
libexecdir := $(prefix)/libexec/voltd
mandir     := $(prefix)/share/man
docdir     := $(prefix)/share/doc/voltd
bashdir    := $(prefix)/share/bash-completion/completions
zshdir     := $(prefix)/share/zsh/$(if $(filter /usr,$(prefix)),vendor-completions,site-functions)
fishdir    := $(prefix)/share/fish/vendor_completions.d
sysconfdir := $(if $(filter /usr /usr/local,$(prefix)),/etc,$(prefix)/etc)
systemddir := $(if $(filter /usr /usr/local,$(prefix)),/usr,$(prefix))/lib/systemd
pamdir     := $(if $(filter /usr /usr/local,$(prefix)),/usr,$(prefix))/lib/pam.d
D          := $(DESTDIR)
SUBST      := sed -e 's|@prefix@|$(prefix)|g' -e 's|@bindir@|$(bindir)|g' -e 's|@libdir@|$(libdir)|g' \
              -e 's|@libexecdir@|$(libexecdir)|g' -e 's|@VERSION@|$(VERSION)|g'
# The units of one kind, system or user: its lines, and those that both have.
UNITS_BOTH   := voltd.service voltd.socket voltd-control.socket voltd-keeper@.socket voltd-keeper@.service voltd-jobs@.service
# The system's alone: who may run jobs, and their walls.
UNITS_SYSTEM := voltd-users.service voltd-users-again.service voltd-users.path voltd.slice voltd-.slice.d/10-voltd.conf
UNIT_OF    = $(SUBST) -e '/^@template@/d' -e 's|^@$(1)@||' -e '/^@$(if $(filter system,$(1)),user,system)@/d'

install: all
	install -d $(D)$(bindir) $(D)$(libdir)/pkgconfig $(D)$(libdir)/sysusers.d $(D)$(libdir)/tmpfiles.d $(D)$(systemddir)/catalog $(D)$(pamdir) \
	    $(D)$(sysconfdir)/needrestart/conf.d $(D)$(systemddir)/system/voltd-.slice.d $(D)$(systemddir)/user $(D)$(prefix)/include/volt $(D)$(prefix)/share/varlink $(D)$(sysconfdir)/voltd/voltd.conf.d \
	    $(D)$(bashdir) $(D)$(zshdir) $(D)$(fishdir)
	install -m 755 $(filter-out %/voltd-keeper,$(PROGRAMS)) $(D)$(bindir)
	install -d $(D)$(libexecdir) # of a program that may not be read no process is dumpable
	install -m 711 $(filter %/voltd-keeper,$(PROGRAMS)) $(D)$(libexecdir)
	install -m 755 systemd/voltd-users systemd/voltd-jobs-settle $(D)$(libexecdir)
	install -m 644 $(LIBVOLT) $(D)$(libdir)
	install -m 755 $(B)/$(SONAME) $(B)/$(CLIENT_SO) $(D)$(libdir)
	ln -sf $(SONAME) $(D)$(libdir)/libvolt.so
	ln -sf $(CLIENT_SO) $(D)$(libdir)/libvoltclient.so
	install -m 644 lib/include/volt/*.h client/include/volt/*.h $(D)$(prefix)/include/volt
	install -m 644 $(filter-out %/org.varlink.service.varlink,$(IDL)) $(D)$(prefix)/share/varlink
	install -m 644 client/completion/volt.bash $(D)$(bashdir)/voltctl
	ln -sf voltctl $(D)$(bashdir)/volt-submit
	ln -sf voltctl $(D)$(bashdir)/volt-lock
	install -m 644 client/completion/_volt $(D)$(zshdir)
	install -m 644 client/completion/volt.fish $(D)$(fishdir)/voltctl.fish
	ln -sf voltctl.fish $(D)$(fishdir)/volt-submit.fish
	ln -sf voltctl.fish $(D)$(fishdir)/volt-lock.fish
	[ -e $(D)$(sysconfdir)/voltd/voltd.conf ] || install -m 644 conf/voltd.conf $(D)$(sysconfdir)/voltd
	$(SUBST) lib/volt.pc.in >$(D)$(libdir)/pkgconfig/volt.pc
	$(SUBST) client/voltclient.pc.in >$(D)$(libdir)/pkgconfig/voltclient.pc
	for unit in $(UNITS_BOTH) $(UNITS_SYSTEM); do \
	    $(call UNIT_OF,system) systemd/$$unit >$(D)$(systemddir)/system/$$unit || exit 1; done
	for unit in $(UNITS_BOTH); do \
	    $(call UNIT_OF,user) systemd/$$unit >$(D)$(systemddir)/user/$$unit || exit 1; done
	install -d $(addprefix $(D)$(mandir)/man,1 3 5 7 8)
	for page in client/man/*.[13578] lib/man/*.[37]; do \
	    install -m 644 $$page $(D)$(mandir)/man$${page##*.} || exit 1; done
	for page in lib/man/*.3 client/man/*.3; do for name in $$(sed -n 's/^\.Nm \(\w*\).*/\1/p' $$page); do \
	    [ $$name.3 = $${page##*/} ] || ln -sf $${page##*/} $(D)$(mandir)/man3/$$name.3 || exit 1; done; done
	install -d $(D)$(docdir)/examples
	install -m 644 client/examples/hello.c $(D)$(docdir)/examples
	install -m 755 client/examples/agent.py $(D)$(docdir)/examples
	install -m 644 systemd/voltd.sysusers $(D)$(libdir)/sysusers.d/voltd.conf
	install -m 644 systemd/voltd.tmpfiles $(D)$(libdir)/tmpfiles.d/voltd.conf
	install -m 644 systemd/voltd.catalog $(D)$(systemddir)/catalog
	install -m 644 systemd/voltd.pam $(D)$(pamdir)/voltd
	install -m 644 systemd/voltd.needrestart $(D)$(sysconfdir)/needrestart/conf.d/voltd.conf
# What install would put there goes; a configuration only as install has left it.
uninstall: all
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	$(MAKE) --no-print-directory -s install prefix=$(prefix) DESTDIR="$$tmp" && \
	tests/tools/uninstall "$$tmp" "$(D)" $(sysconfdir)/voltd/voltd.conf
# Completions of the shells, from the option tables.
completions: $(PROGRAMS)
	@client/completion/generate $(BIN) client/completion
.PHONY: install uninstall completions

define HELP
make                 programs: $(BIN)/; libraries: $(B)/
make demo            build, run real work through a private voltd, clean up
make check           all tests of this build (below), 12 min; installs what it needs
make check-fast      build, lints, unit tests, the broadest integration tests, 3 min
make check-unit      cmocka programs, tests/unit; T=output: those of that name; 2 min
make check-model     the explorer on the real sources, tests/model, 1 min
make check-model-compare  whether its search leaves out only what it may
make check-sim       random histories of a whole voltd in a simulated world, tests/sim; SEED=
make sim             the same for long: SECS=600 SEED=
make check-fuzz      a corpus and mutations of it through every parser, tests/fuzz
make fuzz            the same with libFuzzer, SECS=60 seconds each
make check-damage    a store with each byte flipped and cut at each length (a part: in check)
make check-stress    short stress runs, tests/stress
make stress          long ones: SECS=600 WORKERS="2 8 64"
make check-examples  the examples of libvolt
make check-benches   builds the benchmarks that need no packages of their own
make check-integration  pytest against real daemons, tests/integration, as a user without privileges; T=test_keys, T="keys list", T=FILE::TEST; 7 min
make check-integration-here  the same as whoever calls it, with the programs of this variant
make check-root      integration tests that need root, 1 min
make check-chaos     kills and crash points against ledgers, tests/chaos; SEED=; 2 min
make check-fault-random  faults at moments that chance chooses, tests/chaos; SEED=; 1 min
make check-asan      unit tests and fuzz under the address and undefined-behaviour sanitizers, 2 min
make check-tsan      unit tests with threads, and stress, under the thread sanitizer, 2 min
make check-restarts  restarts with waiting jobs, all outputs can be read: RESTARTS=1000
make check-late-starts  integration and chaos without early starts (StartAhead=0)
make check-late-programs  integration and chaos with every program late, now and then; as root
make check-deep      everything whole, in parts, resumable: SHARE=1/10 PARTS="chaos soak"; hours
make check-repeat    process-bound suites again and again beside busy loops: MINUTES=60
make check-flaky     one test again and again: TEST="make check-unit T=test_x" N=50
make check-layers    who may include or call whom, and may change the whole process; length of files
make check-promises  what the documentation promises has its test: lib/PROMISES.md
make spec            writes what kinds.def and claim_modes.def of daemon/job say into the descriptions and volt-job(5)
make check-spec      the fields of a job are the same in the code, in the description and in volt-job(5)
make check-mutants   each planted mistake of the lists still has its place in the sources
make check-install   install, and use what was installed
make completions     writes client/completion anew, from the option tables
make check-clients   a foreign Varlink client (Go)
make check-vm        the units on a real systemd in a VM (qemu); T: steps of tests/systemd/guest/main
make check-vm-power  power cuts with a kernel and a disk in that VM: N=20 SEED= SECS=12
make mutants-runtime  mistakes in lib/ that models do not reach, each of which a test must find
make mutants-daemon  mistakes in daemon/, each of which a test must find (-part: in 90 s)
make mutants-operators  operators, numbers, conditions changed in daemon/: N=160 SEED= ROOM= (-part: 12)
make chaos           check-chaos for long: SECS=600 SEED=
make soak            one voltd under load and faults for long: SECS=3600 SEED=
make coverage        lines and branches of daemon/ that unit tests and simulator reach (FILES=1)
make check-coverage  the same; fails where a room is below its bounds
make coverage-keeper branches of the privileged program that tests reach
make bench           benchmarks of libvolt
make bench-servers   echo servers by turns: libvolt, an epoll loop, Tokio if it is built
make bench-peers     the same beside Tokio, Go, oneTBB and a naive pool
make bench-daemon    voltd beside a bare spawner, xargs, make, parallel, task-spooler, nq
make install         prefix=$(prefix) DESTDIR=$(DESTDIR)
make uninstall       remove what make install has put there
make deps            install missing Debian packages (others: deps-clients, deps-vm)
make clean           remove build/

Variants: SAN=address,undefined, SAN=thread, CC=clang; for every target.
endef
export HELP
help:
	@echo "$$HELP"
.PHONY: help

clean:
	rm -rf build
.PHONY: clean

-include $(shell find $(sort $(B) $(PLAIN)) -type f -name '*.d' 2>/dev/null)
