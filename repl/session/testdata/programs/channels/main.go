package main

import (
	"fmt"
	"sync"
	"time"
)

type job struct{ id, n int }
type result struct {
	job
	sum int
}

func worker(jobs <-chan job, out chan<- result, wg *sync.WaitGroup) {
	defer wg.Done()
	for j := range jobs {
		s := 0
		for d := j.n; d > 0; d /= 10 {
			s += d % 10
		}
		out <- result{j, s}
	}
}

func producer(n int) <-chan int {
	c := make(chan int)
	go func() {
		defer close(c)
		for i := 0; i < n; i++ {
			c <- i * i
		}
	}()
	return c
}

func merge(cs ...<-chan int) <-chan int {
	var wg sync.WaitGroup
	out := make(chan int)
	for _, c := range cs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for v := range c {
				out <- v
			}
		}()
	}
	go func() { wg.Wait(); close(out) }()
	return out
}

func main() {
	jobs, out := make(chan job), make(chan result, 4)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go worker(jobs, out, &wg)
	}
	go func() {
		for i := range 20 {
			jobs <- job{i, i * 37}
		}
		close(jobs)
		wg.Wait()
		close(out)
	}()
	sums := make([]int, 20)
	for r := range out {
		sums[r.id] = r.sum
	}
	fmt.Println(sums)

	total := 0
	for v := range merge(producer(5), producer(10)) {
		total += v
	}
	fmt.Println(total)

	done := make(chan struct{})
	ticks := 0
	go func() { time.Sleep(30 * time.Millisecond); close(done) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
loop:
	for {
		select {
		case <-tick.C:
			ticks++
		case <-done:
			break loop
		}
	}
	fmt.Println(ticks > 0)

	select {
	case v, ok := <-producer(0):
		fmt.Println(v, ok)
	case <-time.After(time.Second):
		fmt.Println("late")
	}

	var mu sync.RWMutex
	counts := map[string]int{}
	var once sync.Once
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			once.Do(func() { fmt.Println("once") })
			mu.Lock()
			defer mu.Unlock()
			counts[[]string{"a", "b", "c"}[i%3]]++
		})
	}
	group.Wait()
	mu.RLock()
	fmt.Println(counts)
	mu.RUnlock()
	var sem = make(chan bool, 1)
	sem <- true
	select {
	case sem <- true:
		fmt.Println("room")
	default:
		fmt.Println("full", len(sem), cap(sem))
	}
}
