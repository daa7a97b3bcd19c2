// The workloads of bench/bench_*.c in Go. What each of them does is said there. This file is the
// harness of bench/harness.h once more: the same arguments, the same lines.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

type metric struct {
	name, unit string
	more       bool
}

type workload struct {
	name    string
	metrics []metric
	once    bool
	run     func() [3]float64
}

const never = 3 * time.Second

var (
	workers = 2
	seconds = math.Inf(1) // after which no further repetition is begun
)

func perOp(start time.Time, operations int) [3]float64 {
	return [3]float64{float64(time.Since(start).Nanoseconds()) / float64(operations)}
}

func quantile(values []float64, q float64) float64 {
	sort.Float64s(values)
	at := int(q * float64(len(values)))
	if at >= len(values) {
		at = len(values) - 1
	}
	return values[at]
}

// burn uses the processor for so long.
func burn(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// The last task of a workload to end opens the gate.
var (
	left struct {
		_ [128]byte
		n int64
		_ [128]byte
	}
	gate = make(chan struct{}, 8)
)

func expect(n int) { atomic.StoreInt64(&left.n, int64(n)) }

func done() {
	if atomic.AddInt64(&left.n, -1) == 0 {
		gate <- struct{}{}
	}
}

func list(samples []float64) string {
	text := make([]string, len(samples))
	for i, x := range samples {
		text[i] = strconv.FormatFloat(x, 'g', 6, 64)
	}
	return strings.Join(text, ", ")
}

func (w *workload) measure(runs int) {
	results := make([][]float64, len(w.metrics))
	start := time.Now()
	if w.once {
		runs = 1
	} else {
		w.run()
	}
	for i := 0; i < runs && (i == 0 || time.Since(start).Seconds() < seconds); i++ {
		one := w.run()
		for k := range w.metrics {
			results[k] = append(results[k], one[k])
		}
	}
	for k, m := range w.metrics {
		sorted := append([]float64(nil), results[k]...)
		median := quantile(sorted, 0.5)
		fmt.Printf(`{"workload": %q, "metric": %q, "unit": %q, "who": "go", "workers": %d, `+
			`"median": %g, "min": %g, "max": %g, "more_is_better": %v, "samples": [%s]}`+"\n",
			w.name, m.name, m.unit, workers, median, sorted[0], sorted[len(sorted)-1], m.more,
			list(results[k]))
	}
}

func main() {
	runs, only, names := 7, false, map[string]bool{}
	for args := os.Args[1:]; len(args) > 0; args = args[1:] {
		switch args[0] {
		case "--list":
			only = true
		case "--runs":
			runs, _ = strconv.Atoi(args[1])
			args = args[1:]
		case "--seconds":
			seconds, _ = strconv.ParseFloat(args[1], 64)
			args = args[1:]
		case "--workers":
			workers, _ = strconv.Atoi(args[1])
			args = args[1:]
		default:
			names[args[0]] = true
		}
	}
	runtime.GOMAXPROCS(workers)
	for _, part := range [][]workload{spawns, locks, timers, latencies, loads} {
		for i := range part {
			w := &part[i]
			switch {
			case len(names) > 0 && !names[w.name]:
			case only:
				fmt.Println(w.name)
			default:
				w.measure(runs)
			}
		}
	}
}
