# Benchmarks: bench/README.md. Every bench_*.c is a program, linked with the harness, the
# probes of the machine, and libvolt. BENCH: the workloads wanted, all if empty.
BENCH     ?=
BENCHES   := $(patsubst %.c,$(B)/%,$(wildcard bench/bench_*.c))
BENCH_OBJ := $(addprefix $(B)/bench/,harness.o floor.o tasks.o)

$(BENCHES): $(B)/%: $(B)/%.o $(BENCH_OBJ) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< $(BENCH_OBJ) $(LIBVOLT) $(VOLT_LIBS) -lm

bench: deps
	+@$(MAKE) --no-print-directory bench-run
bench-run: $(BENCHES)
	@bench/run --build $(abspath $(B)) $(BENCH)

# ---- peers: Debian's versions, offline from what its packages bring ----------------------------
PEERS := $(abspath $(B))/peers
CXX   := g++

$(PEERS)/bench-naive: bench/peers/naive/bench_naive.c $(B)/bench/harness.o
	@mkdir -p $(@D)
	$(LINK) $(CSTD) $(WARN) -I. $^ -lm
$(PEERS)/bench-tbb: bench/peers/tbb/bench_tbb.cc $(B)/bench/harness.o
	@mkdir -p $(@D)
	$(call say,CXX,$@)$(CXX) -std=c++17 -O2 -Wall -Wextra -Werror -I. -pthread -o $@ $^ -ltbb -lm
$(PEERS)/bench-go: $(wildcard bench/peers/go/*)
	@mkdir -p $(@D)
	$(call say,GO,$@)cd bench/peers/go && GO111MODULE=off GOFLAGS= GOCACHE=$(PEERS)/go-cache go build -o $@ .
# Cargo writes beside the sources, so it is given a copy of them; the crates are those of
# Debian.
$(PEERS)/bench-tokio: bench/peers/tokio/Cargo.toml $(wildcard bench/peers/tokio/src/*)
	@mkdir -p $(PEERS)/tokio/.cargo
	@cp -r bench/peers/tokio/. $(PEERS)/tokio
	@printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' \
	    >$(PEERS)/tokio/.cargo/config.toml
	$(call say,RUST,$@)cd $(PEERS)/tokio && CARGO_HOME=$(PEERS)/cargo RUSTC=/usr/bin/rustc /usr/bin/cargo build -q --offline --release
	@cp $(PEERS)/tokio/target/release/bench-tokio $@

bench-peers: deps
	@tests/tools/deps bench
	+@$(MAKE) --no-print-directory bench-peers-run
bench-peers-run: $(BENCHES) $(addprefix $(PEERS)/bench-,tokio go tbb naive)
	@bench/run --build $(abspath $(B)) --peers $(PEERS) $(BENCH)

# ---- the daemon --------------------------------------------------------------------------------
# The reference is static, as voltd-keeper is: half the page tables to copy per fork.
DAEMON_BENCH := $(addprefix $(B)/bench/daemon/,reference load stages beanstalk crowd)

$(B)/bench/daemon/reference: $(B)/bench/daemon/reference.o
	@mkdir -p $(@D)
	$(LINK) $(if $(SAN),,-static-pie) $<
$(addprefix $(B)/bench/daemon/,load beanstalk crowd): %: %.o
	@mkdir -p $(@D)
	$(LINK) $<
$(B)/bench/daemon/stages: $(B)/bench/daemon/stages.o $(LIBD) $(LIBKEEPER) $(LIBWIRE) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(VOLTD_LIBS)

bench-daemon: deps
	@tests/tools/deps bench-daemon
	+@$(MAKE) --no-print-directory bench-daemon-run
bench-daemon-run: all $(DAEMON_BENCH)
	@bench/daemon/run --bin $(abspath $(BIN)) --tools $(abspath $(B))/bench/daemon $(BENCH)

.PHONY: bench bench-run bench-peers bench-peers-run bench-daemon bench-daemon-run
