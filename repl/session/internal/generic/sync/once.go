// Package sync is the generic part of the standard package sync.
package sync

import "sync"

// OnceValue returns a function that calls f once and returns f's result each time.
func OnceValue[T any](f func() T) func() T {
	var once sync.Once
	var result T
	return func() T {
		once.Do(func() { result = f() })
		return result
	}
}

// OnceValues is OnceValue for two results.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) {
	var once sync.Once
	var r1 T1
	var r2 T2
	return func() (T1, T2) {
		once.Do(func() { r1, r2 = f() })
		return r1, r2
	}
}
