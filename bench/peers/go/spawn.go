// As bench_spawn.c.
package main

import (
	"runtime"
	"sync"
	"time"
)

const (
	manySpawns = 1000000
	wave       = 200
	chains     = 300
	depth      = 1000
	yielders   = 200
	yields     = 1000
	pairs      = 1000
	pairTurns  = 50
	rounds     = 100000
)

// The main goroutine stands for a thread that is no worker: its thread is locked to it.
func spawnRemote(n int) [3]float64 {
	runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(workers)
	expect(manySpawns)
	start := time.Now()
	for i := 0; i < manySpawns; i++ {
		go done()
	}
	<-gate
	return perOp(start, manySpawns)
}

func spawnLocal(n int) [3]float64 {
	runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(workers)
	expect(manySpawns)
	start := time.Now()
	go func() {
		for i := 0; i < manySpawns; i++ {
			go done()
		}
	}()
	<-gate
	return perOp(start, manySpawns)
}

func spawnLocal200() [3]float64 {
	expect(1)
	start := time.Now()
	go func() {
		var children sync.WaitGroup
		for n := 0; n < manySpawns/wave; n++ {
			children.Add(wave)
			for i := 0; i < wave; i++ {
				go children.Done()
			}
			children.Wait()
		}
		done()
	}()
	<-gate
	return perOp(start, manySpawns)
}

func chain(left int) {
	if left > 1 {
		go chain(left - 1)
	} else {
		gate <- struct{}{}
	}
}

func chainedSpawn() [3]float64 {
	start := time.Now()
	for i := 0; i < chains; i++ {
		go chain(depth)
		<-gate
	}
	return perOp(start, chains*depth)
}

func yieldMany() [3]float64 {
	expect(yielders)
	start := time.Now()
	for i := 0; i < yielders; i++ {
		go func() {
			for n := 0; n < yields; n++ {
				runtime.Gosched()
			}
			done()
		}()
	}
	<-gate
	return perOp(start, yielders*yields)
}

func pingPong() [3]float64 {
	start := time.Now()
	for turn := 0; turn < pairTurns; turn++ {
		expect(pairs)
		go func() {
			for i := 0; i < pairs; i++ {
				go func() {
					ball, answer := make(chan int, 1), make(chan int, 1)
					go func() { answer <- <-ball }()
					ball <- 1
					<-answer
					done()
				}()
			}
		}()
		<-gate
	}
	return perOp(start, pairTurns*pairs)
}

func onePair() [3]float64 {
	turn := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	expect(2)
	start := time.Now()
	for i := 0; i < 2; i++ {
		mine, other := turn[i], turn[1-i]
		go func() {
			for n := 0; n < rounds; n++ {
				<-mine
				other <- struct{}{}
			}
			done()
		}()
	}
	turn[0] <- struct{}{}
	<-gate
	return perOp(start, rounds)
}

var timeOnly = []metric{{"time", "ns", false}}

var spawns = []workload{
	{"spawn_remote", timeOnly, false, func() [3]float64 { return spawnRemote(workers) }},
	{"spawn_remote_1w", timeOnly, false, func() [3]float64 { return spawnRemote(1) }},
	{"spawn_remote_4w", timeOnly, false, func() [3]float64 { return spawnRemote(4) }},
	{"spawn_remote_8w", timeOnly, false, func() [3]float64 { return spawnRemote(8) }},
	{"spawn_local", timeOnly, false, func() [3]float64 { return spawnLocal(workers) }},
	{"spawn_local_1w", timeOnly, false, func() [3]float64 { return spawnLocal(1) }},
	{"spawn_local_200", timeOnly, false, spawnLocal200},
	{"chained_spawn", timeOnly, false, chainedSpawn},
	{"yield_many", timeOnly, false, yieldMany},
	{"ping_pong", timeOnly, false, pingPong},
	{"one_pair", timeOnly, false, onePair},
	{"one_pair_channel", timeOnly, false, onePair},
}
