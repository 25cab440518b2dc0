// Package iter is the generic part of the standard package iter.
package iter

// Pull returns functions that get a sequence's values one by one. The sequence runs in a goroutine of its
// own; only one of the two runs at a time.
func Pull[V any](seq func(yield func(V) bool)) (next func() (V, bool), stop func()) {
	next2, stop := Pull2(func(yield func(V, bool) bool) {
		seq(func(v V) bool { return yield(v, true) })
	})
	next = func() (V, bool) {
		v, _, ok := next2()
		return v, ok
	}
	return next, stop
}

// Pull2 is Pull for pairs.
func Pull2[K, V any](seq func(yield func(K, V) bool)) (next func() (K, V, bool), stop func()) {
	var (
		key           K
		value         V
		started, done bool
		failure       any
		resume        = make(chan bool, 1) // whether to go on
		yielded       = make(chan bool, 1) // whether there is a value
	)
	run := func() {
		defer func() {
			failure = recover()
			yielded <- false
		}()
		if !<-resume {
			return
		}
		seq(func(k K, v V) bool {
			key, value = k, v
			yielded <- true
			return <-resume
		})
	}
	step := func(more bool) bool {
		if !started {
			started = true
			go run()
		}
		resume <- more
		if <-yielded {
			return true
		}
		done = true
		if failure != nil {
			panic(failure)
		}
		return false
	}
	next = func() (k K, v V, ok bool) {
		if done || !step(true) {
			return k, v, false
		}
		k, v, key, value = key, value, k, v
		return k, v, true
	}
	stop = func() {
		if !done && started {
			step(false)
		}
		done = true
	}
	return next, stop
}
