package scope

import (
	"context"
	"runtime"
	"sync"
	"testing"
)

var fruit, herb = &Key{"fruit"}, &Key{"herb"}

func with(key *Key, what string) context.Context {
	return context.WithValue(context.Background(), key, what)
}

// TestWithin walks into scopes and out of them again.
func TestWithin(t *testing.T) {
	want := func(fruits, herbs any) {
		t.Helper()
		if a, b := Context().Value(fruit), Context().Value(herb); a != fruits || b != herbs {
			t.Errorf("got %v and %v, want %v and %v", a, b, fruits, herbs)
		}
	}
	want(nil, nil)
	Within(with(fruit, "apple"), func() {
		want("apple", nil)
		Within(with(herb, "dill"), func() {
			want("apple", "dill") // a setting that the inner context lacks
			Within(with(fruit, "pear"), func() { want("pear", "dill") })
			Within(context.WithValue(Context(), fruit, "plum"), func() { want("plum", "dill") })
			want("apple", "dill")
		})
		func() {
			defer func() { recover() }()
			Within(with(fruit, "fig"), func() { panic("stop") })
		}()
		want("apple", nil)
		done := make(chan bool)
		go func() {
			defer close(done)
			want(nil, nil) // a goroutine has a scope only if it is given one
			defer func() { want(nil, nil) }()
			Within(with(fruit, "kiwi"), func() { runtime.Goexit() })
		}()
		<-done
	})
	want(nil, nil)
	if n := count.Load(); n != 0 {
		t.Errorf("%d scopes are left", n)
	}
}

// TestStops holds that an inner context alone says when work stops, and that only settings come from around
// it.
func TestStops(t *testing.T) {
	type other struct{}
	outer, stop := context.WithCancelCause(context.WithValue(with(fruit, "apple"), other{}, 1))
	stop(context.DeadlineExceeded)
	Within(outer, func() {
		if Context().Err() == nil {
			t.Error("the outer scope goes on")
		}
		Within(context.Background(), func() {
			if ctx := Context(); ctx.Err() != nil || context.Cause(ctx) != nil {
				t.Errorf("the inner scope stops: %v", context.Cause(ctx))
			}
			if v := Context().Value(other{}); v != nil {
				t.Errorf("the inner scope has %v of the outer one's", v)
			}
		})
	})
}

// TestSideBySide has many goroutines within scopes of their own.
func TestSideBySide(t *testing.T) {
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			mine := new(int)
			for range 100 {
				Within(context.WithValue(context.Background(), fruit, mine), func() {
					runtime.Gosched()
					if Context().Value(fruit) != mine {
						t.Error("a goroutine sees another one's scope")
					}
				})
			}
		})
	}
	all.Wait()
}

// TestMoreThanRecent has more goroutines within scopes, all at once, than are found without a lock: each sees
// its own scope again after all others were seen, and none is left at the end.
func TestMoreThanRecent(t *testing.T) {
	var all, inside sync.WaitGroup
	n := 4 * len(recent)
	inside.Add(n)
	for i := range n {
		all.Go(func() {
			mine := func(want any) {
				if got := Context().Value(fruit); got != want {
					t.Errorf("goroutine %d: got %v, want %v", i, got, want)
				}
			}
			mine(nil)
			Within(context.WithValue(context.Background(), fruit, i), func() {
				mine(i)
				inside.Done()
				inside.Wait()
				mine(i)
				Within(context.WithValue(context.Background(), fruit, -i), func() {
					runtime.Gosched()
					mine(-i)
				})
				mine(i)
			})
			mine(nil)
		})
	}
	all.Wait()
	if n := count.Load(); n != 0 {
		t.Errorf("%d scopes are left", n)
	}
	for i := range recent {
		if b := recent[i].Load(); b != nil {
			t.Errorf("the scope of %#x is left", b.g)
		}
	}
}

// asked counts how often a context is asked for a setting.
type asked struct {
	context.Context
	times map[any]int
}

func (a asked) Value(key any) any {
	a.times[key]++
	return a.Context.Value(key)
}

// TestRemembered asks often for settings that a scope has, that the scope around it has, and that nobody has:
// the contexts are asked once.
func TestRemembered(t *testing.T) {
	outer, inner := asked{with(fruit, "apple"), map[any]int{}}, asked{with(herb, "dill"), map[any]int{}}
	bark := &Key{"bark"}
	Within(outer, func() {
		Within(inner, func() {
			for range 10 {
				ctx := Context()
				if a, b, c := ctx.Value(fruit), ctx.Value(herb), ctx.Value(bark); a != "apple" || b != "dill" || c != nil {
					t.Fatalf("got %v, %v and %v, want apple, dill and nothing", a, b, c)
				}
			}
			Within(context.WithValue(Context(), fruit, "plum"), func() { // what was made from a scope's context
				if a, b := Context().Value(fruit), Context().Value(herb); a != "plum" || b != "dill" {
					t.Errorf("got %v and %v, want plum and dill", a, b)
				}
			})
		})
	})
	for _, key := range []*Key{fruit, herb, bark} {
		if n := inner.times[key]; n != 1 {
			t.Errorf("the inner context was asked for %s %d times, want once", key.Name, n)
		}
	}
	if outer.times[fruit] != 1 || outer.times[herb] != 0 || outer.times[bark] != 1 {
		t.Errorf("the outer context was asked %v times, want once for what the inner one lacks", outer.times)
	}
}

func BenchmarkContext(b *testing.B) {
	Within(context.Background(), func() {
		for b.Loop() {
			Context()
		}
	})
}
