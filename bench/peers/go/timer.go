// As bench_time.c.
package main

import (
	"context"
	"sync"
	"syscall"
	"time"
)

const (
	cancels = 1000000
	crowd   = 100000
	calm    = 10000

	million     = 1000000
	millionFrom = time.Second
	millionSpan = 40 * time.Second
	canarySings = 2000
	canarySleep = time.Millisecond
	cancelled   = 100000
	cancelAfter = time.Minute
)

func timerCancel() [3]float64 {
	expect(1)
	start := time.Now()
	go func() {
		for i := 0; i < cancels; i++ {
			time.NewTimer(time.Minute).Stop()
		}
		done()
	}()
	<-gate
	return perOp(start, cancels)
}

// sleepers answers how many milliseconds late n goroutines woke, whose moments are spread over span.
func sleepers(n int, from, span time.Duration) []float64 {
	late := make([]float64, n)
	begin := time.Now().Add(from)
	expect(n)
	for i := 0; i < n; i++ {
		at := begin.Add(span * time.Duration(i*7919%n) / time.Duration(n))
		ms := &late[i]
		go func() {
			time.Sleep(time.Until(at))
			*ms = float64(time.Since(at).Nanoseconds()) / 1e6
			done()
		}()
	}
	<-gate
	return late
}

func cpuMs() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

func timers100k() [3]float64 {
	cpu := cpuMs()
	late := sleepers(crowd, 0, 50*time.Millisecond)
	return [3]float64{cpuMs() - cpu, quantile(late, 0.5)}
}

func timers10k() [3]float64 {
	late := sleepers(calm, 100*time.Millisecond, 400*time.Millisecond)
	return [3]float64{quantile(late, 0.5), quantile(late, 0.99)}
}

// cancel: one context for all, and a WaitGroup instead of handles.
func cancel() [3]float64 {
	ctx, cancelAll := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Add(cancelled)
	expect(cancelled)
	for i := 0; i < cancelled; i++ {
		go func() {
			timer := time.NewTimer(cancelAfter)
			done()
			select {
			case <-ctx.Done():
			case <-timer.C:
				panic("a timer fired early")
			}
			timer.Stop()
			tasks.Done()
		}()
	}
	<-gate
	start := time.Now()
	cancelAll()
	tasks.Wait()
	return perOp(start, cancelled)
}

func canary() [3]float64 {
	begin := time.Now().Add(millionFrom)
	for i := 0; i < million; i++ {
		at := begin.Add(millionSpan / million * time.Duration(i*7919%million))
		go func() { time.Sleep(time.Until(at)) }()
	}
	late := make([]float64, canarySings)
	expect(1)
	go func() {
		for i := range late {
			at := time.Now().Add(canarySleep)
			time.Sleep(canarySleep)
			late[i] = float64(time.Since(at).Nanoseconds()) / 1e6
		}
		done()
	}()
	<-gate
	return [3]float64{quantile(late, 0.99), quantile(late, 1)}
}

var timers = []workload{
	{"timer_cancel", timeOnly, false, timerCancel},
	{"timers_100k", []metric{{"cpu", "ms", false}, {"late_p50", "ms", false}}, false, timers100k},
	{"timers_10k", []metric{{"late_p50", "ms", false}, {"late_p99", "ms", false}}, false, timers10k},
	{"cancel", timeOnly, false, cancel},
	{"canary", []metric{{"late_p99", "ms", false}, {"late_max", "ms", false}}, true, canary},
}
