package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

type key struct{}

func slow(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Second):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("slow: %w", context.Cause(ctx))
	}
}

type cache struct {
	sync.Mutex
	m map[string]int
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := slow(ctx)
	fmt.Println(err, errors.Is(err, context.DeadlineExceeded))
	c2, stop := context.WithCancelCause(context.WithValue(context.Background(), key{}, "v"))
	stop(errors.New("enough"))
	fmt.Println(slow(c2), c2.Err(), c2.Value(key{}))
	var n atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			n.Add(int64(i))
		}()
	}
	wg.Wait()
	fmt.Println(n.Load(), n.CompareAndSwap(190, 1))
	c := cache{m: map[string]int{}}
	c.Lock()
	c.m["a"]++
	c.Unlock()
	fmt.Println(c.m)
	var sm sync.Map
	sm.Store("k", 1)
	v, loaded := sm.LoadOrStore("k", 2)
	fmt.Println(v, loaded)
	p := sync.Pool{New: func() any { return new([]byte) }}
	b := p.Get().(*[]byte)
	p.Put(b)
	get := sync.OnceValue(func() int { fmt.Println("computed"); return 7 })
	fmt.Println(get(), get())
	cond := sync.NewCond(&sync.Mutex{})
	ready := false
	go func() { cond.L.Lock(); ready = true; cond.L.Unlock(); cond.Broadcast() }()
	cond.L.Lock()
	for !ready {
		cond.Wait()
	}
	cond.L.Unlock()
	fmt.Println("ready")
	timer := time.AfterFunc(time.Hour, func() {})
	fmt.Println(timer.Stop())
	var av atomic.Value
	av.Store([]int{1})
	fmt.Println(av.Load().([]int)[0])
	var ptr atomic.Pointer[cache]
	fmt.Println(ptr.Load() == nil, ptr.CompareAndSwap(nil, &c), ptr.Load().m["a"])
	old := ptr.Swap(&cache{})
	fmt.Println(old == &c)
}
