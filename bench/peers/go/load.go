// As bench_load.c. The clients of echo are those of bench/echo.c, in a call to C. There are no handles
// and no scopes: a goroutine waits for its children by a WaitGroup.
package main

// #include "echo.h"
import "C"

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	echoes    = 6400
	skewed    = 20000
	shortTask = 100 * time.Nanosecond
	longTask  = 20 * time.Microsecond
	forked    = 10000
	forks     = 20
	setSize   = 1000
	sets      = 200
)

// Of threads so far: all, and those that the system forced.
func switches() (all, preempted float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Nvcsw + u.Nivcsw), float64(u.Nivcsw)
}

// load answers nanoseconds for each operation, and for each thousand both kinds of switches.
func load(operations int, work func()) [3]float64 {
	allBefore, preemptedBefore := switches()
	start := time.Now()
	work()
	result := perOp(start, operations)
	all, preempted := switches()
	result[1] = (all - allBefore) * 1000 / float64(operations)
	result[2] = (preempted - preemptedBefore) * 1000 / float64(operations)
	return result
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func answer(fd C.int) {
	file := os.NewFile(uintptr(fd), "connection")
	conn, err := net.FileConn(file)
	must(err)
	must(file.Close())
	buf := make([]byte, C.ECHO_BYTES)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			break
		}
		_, err = conn.Write(buf[:n])
		must(err)
	}
	must(conn.Close())
	done()
}

func echo(n int) [3]float64 {
	var client, server [C.ECHO_CONNECTIONS]C.int
	C.echo_connect(&client[0], &server[0], C.int(n))
	expect(n)
	for i := 0; i < n; i++ {
		go answer(server[i])
	}
	C.echo_ask(&client[0], C.int(n), echoes/10)
	result := load(echoes, func() { C.echo_ask(&client[0], C.int(n), echoes) })
	C.echo_hang_up(&client[0], C.int(n))
	<-gate
	return result
}

func skew() [3]float64 {
	expect(skewed)
	return load(skewed, func() {
		go func() {
			for i := 0; i < skewed; i++ {
				length := shortTask
				if i%10 == 0 {
					length = longTask
				}
				go func() {
					burn(length)
					done()
				}()
			}
		}()
		<-gate
	})
}

// fib answers the calls of its whole tree.
func fib(n int) int {
	if n < 2 {
		return 1
	}
	var children sync.WaitGroup
	var calls [2]int
	children.Add(2)
	for i := range calls {
		i := i
		go func() {
			calls[i] = fib(n - 1 - i)
			children.Done()
		}()
	}
	children.Wait()
	return 1 + calls[0] + calls[1]
}

func forkJoin(n, calls int) [3]float64 {
	result := make(chan int)
	return load(calls, func() {
		go func() { result <- fib(n) }()
		if <-result != calls {
			panic("a call is missing")
		}
	})
}

func forkMany() {
	for turn := 0; turn < forks; turn++ {
		var children sync.WaitGroup
		children.Add(forked)
		for i := 0; i < forked; i++ {
			go children.Done()
		}
		children.Wait()
	}
	done()
}

func joinSets() {
	for turn := 0; turn < sets; turn++ {
		var members sync.WaitGroup
		results, sum := make(chan int, setSize), 0
		members.Add(setSize)
		for i := 0; i < setSize; i++ {
			i := i
			go func() {
				results <- i
				members.Done()
			}()
		}
		go func() {
			members.Wait()
			close(results)
		}()
		for i := range results {
			sum += i
		}
		if sum != setSize*(setSize-1)/2 {
			panic("a member is missing")
		}
	}
	done()
}

func parent(operations int, task func()) [3]float64 {
	expect(1)
	return load(operations, func() {
		go task()
		<-gate
	})
}

var (
	timeSwitches = []metric{{"time", "ns", false}, {"switches", "/1000", false}, {"preempted", "/1000", false}}
	loads        = []workload{
		{"echo_1", timeSwitches, false, func() [3]float64 { return echo(1) }},
		{"echo_4", timeSwitches, false, func() [3]float64 { return echo(4) }},
		{"echo_64", timeSwitches, false, func() [3]float64 { return echo(64) }},
		{"skew", timeSwitches, false, skew},
		{"fork_join", timeSwitches, false, func() [3]float64 { return forkJoin(24, 150049) }},
		{"fork_scope", timeSwitches, false, func() [3]float64 { return forkJoin(28, 1028457) }},
		{"fork_10k", timeSwitches, false, func() [3]float64 { return parent(forked*forks, forkMany) }},
		{"join_set", timeSwitches, false, func() [3]float64 { return parent(setSize*sets, joinSets) }},
	}
)
