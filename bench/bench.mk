# Benchmarks: bench/README.md. Every bench_*.c is a program, linked with the harness, the probes of
# the machine, and libvolt.
BENCHES   := $(patsubst %.c,$(B)/%,$(wildcard bench/bench_*.c))
BENCH_OBJ := $(addprefix $(B)/bench/,harness.o floor.o tasks.o)

$(BENCHES): $(B)/%: $(B)/%.o $(BENCH_OBJ) $(LIBVOLT)
	@mkdir -p $(@D)
	$(LINK) $< $(BENCH_OBJ) $(LIBVOLT) $(VOLT_LIBS) -lm

bench: deps
	+@$(MAKE) --no-print-directory bench-run
bench-run: $(BENCHES)
	@bench/run --build $(abspath $(B)) $(BENCH)
.PHONY: bench bench-run
