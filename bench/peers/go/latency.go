// As bench_latency.c. What comes from outside comes from C: from a thread that the runtime does not
// count among its own until it calls in.
package main

// #include <stdlib.h>
// #include "outside.h"
import "C"

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	wakes      = 300
	injections = 100
	pause      = time.Millisecond
	poll       = time.Microsecond
	pieces     = 20000
	piece      = 10 * time.Microsecond
	parked     = 200000
)

var stop int32

func quantiles(us []float64) [3]float64 {
	return [3]float64{quantile(us, 0.5), quantile(us, 0.99)}
}

// What a knock from outside makes happen, and when it did, in nanoseconds of C's clock.
var (
	knock func()
	stamp = make(chan C.long, 1)
)

//export onKnock
func onKnock() C.long {
	knock()
	return <-stamp
}

func fromOutside(n int, f func()) [3]float64 {
	ns := (*[wakes]C.long)(C.calloc(C.ulong(n), 8)) // memory that C may keep
	us := make([]float64, n)
	knock = f
	C.knock_often(C.int(n), C.long(pause.Nanoseconds()), &ns[0])
	for i := range us {
		us[i] = float64(ns[i]) / 1000
	}
	C.free(unsafe.Pointer(ns))
	return quantiles(us)
}

func wake() [3]float64 {
	bell := make(chan struct{}, 1)
	go func() {
		for i := 0; i < wakes; i++ {
			<-bell
			stamp <- C.now_ns()
		}
	}()
	return fromOutside(wakes, func() { bell <- struct{}{} })
}

func busy() {
	for atomic.LoadInt32(&stop) == 0 {
		burn(poll)
		runtime.Gosched()
	}
	done()
}

func inject(live int) [3]float64 {
	atomic.StoreInt32(&stop, 0)
	expect(live)
	for i := 0; i < live; i++ {
		go busy()
	}
	result := fromOutside(injections, func() { go func() { stamp <- C.now_ns() }() })
	atomic.StoreInt32(&stop, 1)
	<-gate
	return result
}

func imbalance() [3]float64 {
	expect(pieces)
	start := time.Now()
	go func() {
		for i := 0; i < pieces; i++ {
			go func() {
				burn(piece)
				done()
			}()
		}
	}()
	<-gate
	processors := workers
	if processors > runtime.NumCPU() {
		processors = runtime.NumCPU()
	}
	used := float64(pieces*piece.Nanoseconds()) / float64(processors)
	return [3]float64{used / float64(time.Since(start).Nanoseconds())}
}

// otherThreads: times on a processor, and nanoseconds on it, of all threads but this one.
func otherThreads() (switches, ns float64) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/schedstat")
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 3 || task.Name() == strconv.Itoa(syscall.Gettid()) {
			continue
		}
		t, _ := strconv.ParseFloat(fields[0], 64)
		n, _ := strconv.ParseFloat(fields[2], 64)
		ns, switches = ns+t, switches+n
	}
	return switches, ns
}

func idle() [3]float64 {
	expect(1)
	go done()
	<-gate
	runtime.LockOSThread()
	C.nap(900000000)
	switches, ns := otherThreads()
	C.nap(1000000000)
	after, used := otherThreads()
	return [3]float64{after - switches, (used - ns) / 1000}
}

func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}

func parkedTask() [3]float64 {
	forever := make(chan struct{})
	start := func(n int) {
		expect(n)
		for i := 0; i < n; i++ {
			go func() {
				done()
				<-forever
			}()
		}
		<-gate
	}
	start(1)
	before := resident()
	start(parked)
	return [3]float64{(resident() - before) / parked}
}

var (
	p50p99    = []metric{{"p50", "us", false}, {"p99", "us", false}}
	latencies = []workload{
		{"wake", p50p99, false, wake},
		{"inject_64", p50p99, false, func() [3]float64 { return inject(64) }},
		{"inject_1024", p50p99, false, func() [3]float64 { return inject(1024) }},
		{"imbalance", []metric{{"used", "part", true}}, false, imbalance},
		{"idle", []metric{{"switches", "/s", false}, {"cpu", "us/s", false}}, true, idle},
		{"parked_task", []metric{{"memory", "B", false}}, true, parkedTask},
	}
)
