// As bench_sync.c. A semaphore is a channel with room for its permits.
package main

import (
	"runtime"
	"sync"
	"time"
)

const (
	alone    = 1000000
	tasks    = 1000
	times    = 1000
	handoffs = 200
	rivals   = 2
	sections = 20000
	section  = time.Microsecond
	permits  = 10
	writes   = 10
	messages = 1000000
	room     = 1024
)

var (
	mutex  sync.Mutex
	rwlock sync.RWMutex
	sem    = make(chan struct{}, permits)
	inside int
)

// users runs n goroutines that do `use` so many times each.
func users(n, times int, use func(i int)) [3]float64 {
	expect(n)
	start := time.Now()
	for i := 0; i < n; i++ {
		go func() {
			for i := 0; i < times; i++ {
				use(i)
			}
			done()
		}()
	}
	<-gate
	return perOp(start, n*times)
}

// counted is the same where one in `each` is exclusive and counts itself.
func counted(n, times, each int, use func(i int)) [3]float64 {
	inside = 0
	result := users(n, times, use)
	if inside != n*times/each {
		panic("a section is missing")
	}
	return result
}

func useMutex(int) {
	mutex.Lock()
	inside++
	mutex.Unlock()
}

func turnMutex(i int) {
	useMutex(i)
	runtime.Gosched()
}

func workInMutex(int) {
	mutex.Lock()
	inside++
	burn(section)
	mutex.Unlock()
}

func keepMutex(int) {
	mutex.Lock()
	inside++
	runtime.Gosched()
	mutex.Unlock()
}

func useSem(int) {
	sem <- struct{}{}
	<-sem
}

func keepSem(int) {
	sem <- struct{}{}
	runtime.Gosched()
	<-sem
}

func read(int) {
	rwlock.RLock()
	//lint:ignore SA2001 nothing is done inside
	rwlock.RUnlock()
}

func mixed(i int) {
	if i%writes == 0 {
		rwlock.Lock()
		inside++
		rwlock.Unlock()
	} else {
		read(i)
	}
}

func turnMixed(i int) {
	mixed(i)
	runtime.Gosched()
}

func mpsc(producers int) [3]float64 {
	to := make(chan int, room)
	expect(1)
	start := time.Now()
	for p := 0; p < producers; p++ {
		go func() {
			for i := 0; i < messages/producers; i++ {
				to <- i
			}
		}()
	}
	go func() {
		for i := 0; i < messages; i++ {
			<-to
		}
		done()
	}()
	<-gate
	return perOp(start, messages)
}

var locks = []workload{
	{"mutex_uncontended", timeOnly, false, func() [3]float64 { return counted(1, alone, 1, useMutex) }},
	{"rwlock_read_uncontended", timeOnly, false, func() [3]float64 { return users(1, alone, read) }},
	{"semaphore_uncontended", timeOnly, false, func() [3]float64 { return users(1, alone, useSem) }},
	{"mutex_contended", timeOnly, false, func() [3]float64 { return counted(tasks, times, 1, useMutex) }},
	{"mutex_turns", timeOnly, false, func() [3]float64 { return counted(tasks, handoffs, 1, turnMutex) }},
	{"mutex_handoff", timeOnly, false, func() [3]float64 { return counted(tasks, handoffs, 1, keepMutex) }},
	{"mutex_1us", timeOnly, false, func() [3]float64 { return counted(rivals, sections, 1, workInMutex) }},
	{"semaphore_contended", timeOnly, false, func() [3]float64 { return users(tasks, times, useSem) }},
	{"semaphore_handoff", timeOnly, false, func() [3]float64 { return users(tasks, handoffs, keepSem) }},
	{"rwlock_mixed", timeOnly, false, func() [3]float64 { return counted(tasks, times, writes, mixed) }},
	{"rwlock_turns", timeOnly, false, func() [3]float64 { return counted(tasks, handoffs, writes, turnMixed) }},
	{"mpsc_1", timeOnly, false, func() [3]float64 { return mpsc(1) }},
	{"mpsc_4", timeOnly, false, func() [3]float64 { return mpsc(4) }},
}
