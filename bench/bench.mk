# Benchmarks: bench/README.md. Every bench_*.c is a program, linked with the harness, the
# probes of the machine, and libvolt. BENCH: the workloads wanted, all if empty;
# BENCH_WORKERS: with how many workers, as 1,2,4; AGAINST: build/plain of another tree,
# measured by turns with this one.
BENCH         ?=
AGAINST       ?=
BENCH_WORKERS ?= 2
BENCHES       := $(patsubst %.c,$(B)/%,$(wildcard bench/bench_*.c))
PEERS         := $(abspath $(B))/peers
BENCH_OBJ     := $(addprefix $(B)/bench/,harness.o echo.o floor.o tasks.o)

$(BENCHES): $(B)/%: $(B)/%.o $(BENCH_OBJ) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< $(BENCH_OBJ) $(LIBVOLT) -lm

bench: deps
	+@$(MAKE) --no-print-directory bench-run
bench-run: $(BENCHES)
	@bench/run --build $(abspath $(B)) $(if $(AGAINST),--against $(abspath $(AGAINST))) --workers $(BENCH_WORKERS) $(BENCH)

# Echo servers by turns, Tokio's among them if bench-peers has built it; ARGS: options of
# bench/servers/run.
SERVERS := $(addprefix $(B)/bench/servers/,volt epoll client)
$(B)/bench/servers/volt: $(B)/bench/servers/volt.o $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $^
$(filter-out %/volt,$(SERVERS)): %: %.o
	@mkdir -p $(@D)
	$(LINK) $<
bench-servers: deps
	+@$(MAKE) --no-print-directory bench-servers-run
bench-servers-run: $(SERVERS)
	@bench/servers/run --build $(abspath $(B)) $(if $(wildcard $(PEERS)/echo-server),--peers $(PEERS)) $(ARGS)

# ---- peers: Debian's versions, offline from what its packages bring ----------------------------
CXX   := g++

NAIVE := $(wildcard bench/peers/naive/*.c)
$(PEERS)/bench-naive: $(NAIVE:%.c=$(B)/%.o) $(B)/bench/harness.o $(B)/bench/echo.o
	@mkdir -p $(@D)
	$(LINK) $^ -lm
$(PEERS)/bench-tbb: bench/peers/tbb/bench_tbb.cc $(B)/bench/harness.o
	@mkdir -p $(@D)
	$(call say,CXX,$@)$(CXX) -std=c++17 -O2 -Wall -Wextra -Werror -I. -pthread -o $@ $^ -ltbb -lm
# Go looks for C in the folder of its sources alone, so it is given a copy of both.
$(PEERS)/bench-go: $(wildcard bench/peers/go/*) bench/echo.c bench/echo.h
	@rm -rf $(PEERS)/go && mkdir -p $(PEERS)/go && cp $^ $(PEERS)/go
	$(call say,GO,$@)cd $(PEERS)/go && GO111MODULE=off GOFLAGS= CGO_CFLAGS='-O2 -D_GNU_SOURCE' GOCACHE=$(PEERS)/go-cache go build -o $@ .
# Cargo writes beside the sources, so it is given a copy of them; the crates are those of
# Debian.
TOKIO_SRC := bench/peers/tokio/Cargo.toml $(wildcard bench/peers/tokio/src/*.rs bench/peers/tokio/src/bin/*.rs)
$(PEERS)/bench-tokio: $(TOKIO_SRC)
	@mkdir -p $(PEERS)/tokio/.cargo
	@cp -r bench/peers/tokio/. $(PEERS)/tokio
	@printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' \
	    >$(PEERS)/tokio/.cargo/config.toml
	$(call say,RUST,$@)cd $(PEERS)/tokio && CARGO_HOME=$(PEERS)/cargo RUSTC=/usr/bin/rustc /usr/bin/cargo build -q --offline --release
	@cp $(PEERS)/tokio/target/release/echo-server $(PEERS)/tokio/target/release/bench-tokio $(PEERS)
# TOKIO=PATH: the same with Tokio from a checkout, beside Debian's; the better counts. It is
# built by the cargo in PATH, as Debian's is too old for it, with the crates of Debian and
# those of the checkout's folder vendor (`cargo vendor` makes it).
TOKIO     ?=
NEW_TOKIO := $(PEERS)/tokio-checkout
$(PEERS)/bench-tokio-checkout: $(TOKIO_SRC) $(if $(TOKIO),$(TOKIO)/tokio/Cargo.toml)
	@rm -rf $(NEW_TOKIO)/vendor && mkdir -p $(NEW_TOKIO)/.cargo $(NEW_TOKIO)/vendor
	@cp -r bench/peers/tokio/. $(NEW_TOKIO)
	@printf '[patch.crates-io]\n%s\n%s\n' 'tokio = { path = "$(abspath $(TOKIO))/tokio" }' \
	    'tokio-macros = { path = "$(abspath $(TOKIO))/tokio-macros" }' >>$(NEW_TOKIO)/Cargo.toml
	@ln -sf /usr/share/cargo/registry/* $(wildcard $(abspath $(TOKIO))/vendor/*) $(NEW_TOKIO)/vendor
	@printf '[source.crates-io]\nreplace-with = "vendor"\n[source.vendor]\ndirectory = "vendor"\n' >$(NEW_TOKIO)/.cargo/config.toml
	$(call say,RUST,$@)cd $(NEW_TOKIO) && CARGO_HOME=$(PEERS)/cargo cargo build -q --offline --release
	@cp $(NEW_TOKIO)/target/release/bench-tokio $@

bench-peers: deps
	@tests/tools/deps bench
	+@$(MAKE) --no-print-directory bench-peers-run
bench-peers-run: $(BENCHES) $(addprefix $(PEERS)/bench-,tokio $(if $(TOKIO),tokio-checkout) go tbb naive)
	@bench/run --build $(abspath $(B)) --peers $(PEERS) $(if $(TOKIO),--tokio $(abspath $(TOKIO))) --workers $(BENCH_WORKERS) $(BENCH)

# ---- the daemon --------------------------------------------------------------------------------
# The reference is static, as voltd-keeper is: half the page tables to copy per fork.
DAEMON_BENCH := $(addprefix $(B)/bench/daemon/,reference load stages queues crowd)

$(B)/bench/daemon/reference: $(B)/bench/daemon/reference.o
	@mkdir -p $(@D)
	$(LINK) $(if $(SAN),,-static-pie) $<
$(B)/bench/daemon/crowd: %: %.o
	@mkdir -p $(@D)
	$(LINK) $<
$(addprefix $(B)/bench/daemon/,load queues): %: %.o $(B)/bench/daemon/sampling.o
	@mkdir -p $(@D)
	$(LINK) $(filter %.o,$^) $(if $(findstring queues,$@),-lpq)
$(B)/bench/daemon/queues.o: ALLC += -isystem $(shell pg_config --includedir 2>/dev/null)
$(B)/bench/daemon/stages: $(B)/bench/daemon/stages.o $(LIBD) $(LIBKEEPER) $(LIBWIRE) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)

# Admission alone; WAITERS=1000000.
$(B)/bench/daemon/admission: $(B)/bench/daemon/admission.o $(LIBD) $(LIBWIRE) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)
bench-admission: $(B)/bench/daemon/admission
	@$< $(WAITERS)

# All that need no packages of their own, so that they do not fall behind what they measure.
check-benches: $(BENCHES) $(SERVERS) $(filter-out %/queues,$(DAEMON_BENCH)) $(B)/bench/daemon/admission
	@echo "benches passed=$(words $^) failed=0"

bench-daemon: deps
	@tests/tools/deps bench-daemon
	+@$(MAKE) --no-print-directory bench-daemon-run
bench-daemon-run: all $(DAEMON_BENCH)
	@bench/daemon/run --bin $(abspath $(BIN)) --tools $(abspath $(B))/bench/daemon $(BENCH)

# What one user, or many, can keep from others; BENCH: the attacks wanted.
bench-shares: all
	@bench/daemon/shares --bin $(abspath $(BIN)) $(BENCH)

# Every method at its worst, beside another user; the counters of what is done at once.
bench-survey: all
	@bench/daemon/survey --bin $(abspath $(BIN)) $(BENCH)

# A million jobs that wait for more than slots; WAITERS=1000000.
bench-waiting: all
	@bench/daemon/waiting --bin $(abspath $(BIN)) $(if $(WAITERS),--jobs $(WAITERS))

# What voltd executes for one job; BENCH: the rows wanted.
bench-instructions: all
	@tests/tools/deps bench-instructions
	@bench/daemon/instructions $(BENCH:%=--row %) $(abspath $(BIN))

.PHONY: check-benches bench-admission bench-waiting bench-instructions bench-shares bench-survey bench bench-run bench-servers bench-servers-run bench-peers bench-peers-run bench-daemon bench-daemon-run
