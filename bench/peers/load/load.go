// SPDX-License-Identifier: MIT

// Package load keeps so many workflows, or messages, in flight and says how many ended.
// Shared by the harnesses in Go; bench/peers/load.mjs is the same in JavaScript.
package load

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Payloads of every step, and what is pushed: those of `pawl bench`.
const (
	Input  = `{"name":"world","count":1,"note":"a step of a benchmark"}`
	Output = "Hello, world, from a step of a benchmark"
	Item   = `{"id":1,"name":"performance-test","note":"an item of a benchmark"}`
)

func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Steps of a workload: activities one after another, or at once.
func Steps(workload string) (steps int, atOnce bool) {
	switch workload {
	case "hello":
		return 1, false
	case "chain":
		return 10, false
	case "fanout":
		return 100, true
	}
	Check(fmt.Errorf("no workload %q", workload))
	return 0, false
}

// Run calls `one` from so many goroutines for so long; false means there is nothing left.
// Returns how many were done, how long that took, and the latencies.
func Run(inFlight int, seconds float64, one func(lane int) bool) (int64, float64, []time.Duration) {
	var done atomic.Int64
	var wg sync.WaitGroup
	took := make([][]time.Duration, inFlight)
	begin := time.Now()
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	var last atomic.Int64
	for i := 0; i < inFlight; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Now().Before(end) {
				from := time.Now()
				if !one(i) {
					break
				}
				took[i] = append(took[i], time.Since(from))
				done.Add(1)
				last.Store(int64(time.Since(begin)))
			}
		}()
	}
	wg.Wait()
	var all []time.Duration
	for _, lane := range took {
		all = append(all, lane...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return done.Load(), time.Duration(last.Load()).Seconds(), all
}

func at(all []time.Duration, percent int) int64 {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)*percent/100].Microseconds()
}

// Workflows measures each "WORKLOAD:IN_FLIGHT"; `start` begins one and waits for its end.
func Workflows(seconds string, plans []string, start func(id, workload string) error) {
	each, err := strconv.ParseFloat(seconds, 64)
	Check(err)
	var number atomic.Int64
	for _, plan := range plans {
		workload, count, _ := strings.Cut(plan, ":")
		inFlight, err := strconv.Atoi(count)
		Check(err)
		steps, _ := Steps(workload)
		n, s, all := Run(inFlight, each, func(int) bool {
			Check(start(fmt.Sprintf("bench-%d", number.Add(1)), workload))
			return true
		})
		fmt.Printf("{\"plan\":%q,\"done\":%d,\"per_s\":%.1f,\"steps_per_s\":%.1f,\"p50_us\":%d,\"p99_us\":%d}\n", plan, n,
			float64(n)/s, float64(n)*float64(steps)/s, at(all, 50), at(all, 99))
	}
}

// Queue measures pushes, then pops with their acks until the queue is empty or the time is up.
func Queue(connections, seconds string, push, pop func(lane int) bool) {
	count, err := strconv.Atoi(connections)
	Check(err)
	each, err := strconv.ParseFloat(seconds, 64)
	Check(err)
	pushed, s, _ := Run(count, each, push)
	popped, t, _ := Run(count, each, pop)
	fmt.Printf("{\"push_per_s\":%.0f,\"pop_ack_per_s\":%.0f}\n", float64(pushed)/s, float64(popped)/t)
}
