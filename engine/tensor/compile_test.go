package tensor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
)

// A stateful function and what it is called with: make returns it anew, with state of its own.
type compileCase struct {
	name string
	make func() func(args ...Tensor) []Tensor
	args func(i int) []Tensor
	runs int // how often the Go code may run in 12 calls: in the 1st, 2nd, 3rd, 5th and 9th for each kind of arguments
}

func compileCases() []compileCase {
	none := func(int) []Tensor { return nil }
	vector := func(i int) []Tensor { return []Tensor{From([]float32{1, 2, float32(i)})} }
	return []compileCase{
		{"arguments", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].Mul(2).Add(1), a[0].Sum()} }
		}, vector, 5},
		{"arguments that wait", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].Exp()} }
		}, func(i int) []Tensor { return []Tensor{Ones(3).Mul(i)} }, 5},
		{"numbers", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].Mul(a[1]), a[1], a[1].Cast(a[0].DType()).Add(0)} }
		}, func(i int) []Tensor { return append(vector(i), Scalar(float64(i))) }, 5}, // 1 among them
		{"an argument as it is", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0], a[0].Slice(0, 1, 3), a[0]} }
		}, vector, 5},
		{"other shapes", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].Square().Sum()} }
		}, func(i int) []Tensor { return []Tensor{Ones(1 + i%3).Eval()} }, 9},
		{"another layout", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].MatMul(a[0])} }
		}, func(i int) []Tensor {
			x := From([][]float32{{1, 2}, {float32(i), 4}})
			if i%2 == 1 {
				x = x.Transpose().Eval()
			}
			return []Tensor{x}
		}, 8},
		{"a tensor from outside", func() func(...Tensor) []Tensor {
			w := From([]float32{1, 2, 3})
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].Mul(w)} }
		}, vector, 5},
		{"state", func() func(...Tensor) []Tensor {
			total, count := Zeros(3).Param(), Zeros()
			return func(a ...Tensor) []Tensor {
				before := total.Mul(1)
				total.Set(total.Add(a[0]))
				count.Set(count.Add(1))
				total.Set(total.Mul(count))
				return []Tensor{before, total, count}
			}
		}, vector, 5},
		{"state by a chain of handles", func() func(...Tensor) []Tensor {
			x, y := From([]float32{1, 2}), From([]float32{3, 4})
			return func(...Tensor) []Tensor { // they change places
				old := x.Snapshot()
				x.Set(y)
				y.Set(old)
				return []Tensor{x.Sub(y), x}
			}
		}, none, 5},
		{"random numbers", func() func(...Tensor) []Tensor {
			a, b := NewRNG(3), NewRNG(4)
			return func(x ...Tensor) []Tensor {
				return []Tensor{a.Rand(3).Add(b.Randn(3)), a.RandInt(0, 9, 4), x[0].Add(a.Rand(3))}
			}
		}, vector, 5},
		{"gradients", func() func(...Tensor) []Tensor {
			w := From([]float32{1, 2, 3}).Param()
			return func(a ...Tensor) []Tensor {
				loss := w.Mul(a[0]).Tanh().Square().Sum()
				g := Grad(loss, w, a[0])
				w.Set(w.Sub(g[0].Mul(0.1)))
				return append(g, loss)
			}
		}, vector, 5},
		{"what varies", func() func(...Tensor) []Tensor {
			n := 0.0
			return func(a ...Tensor) []Tensor {
				scaled := a[0].Mul(Varying(func() float64 { return 1 + n })) // 1 in the first call
				Callback(func([]Tensor) { n++ })
				return []Tensor{scaled}
			}
		}, vector, 5},
		{"callbacks", func() func(...Tensor) []Tensor {
			var log []float64
			note := func(v []Tensor) { log = append(log, v[0].Item(), v[len(v)-1].Item()) }
			return func(a ...Tensor) []Tensor {
				noted := Varying(func() float64 { return float64(len(log)) })
				Callback(note, a[0].Sum(), a[0].Prod())
				Callback(note, a[0].Max())
				Callback(func([]Tensor) { log = append(log, log[len(log)-3]) })
				return []Tensor{a[0].Add(noted)}
			}
		}, vector, 5},
		{"constants of Go's", func() func(...Tensor) []Tensor {
			return func(a ...Tensor) []Tensor { return []Tensor{a[0].Add(From([]float32{1, 2, 3})), From([]int{7})} }
		}, vector, 5},
		{"nothing", func() func(...Tensor) []Tensor { return func(...Tensor) []Tensor { return nil } }, vector, 5},
		{"compiled in compiled", func() func(...Tensor) []Tensor {
			twice := Compile(func(a ...Tensor) []Tensor { return []Tensor{a[0].Mul(2)} })
			return func(a ...Tensor) []Tensor { return []Tensor{twice(a[0].Add(1))[0].Add(twice(a[0])[0])} }
		}, vector, 5},
	}
}

// A compiled function does what the function does, bit for bit, and its Go code runs when Compile says.
func TestCompile(t *testing.T) {
	for _, c := range compileCases() {
		for _, fuse := range []bool{true, false} {
			Within(WithFusion(t.Context(), fuse), func() {
				plain, inner, runs := c.make(), c.make(), 0
				f := Compile(func(args ...Tensor) []Tensor { runs++; return inner(args...) })
				for i := range 12 {
					args := c.args(i)
					want, got := plain(args...), f(args...)
					if len(got) != len(want) {
						t.Fatalf("%s: %d results, want %d", c.name, len(got), len(want))
					}
					for k := range want {
						if !slices.Equal(got[k].Bytes(), want[k].Bytes()) || !slices.Equal(got[k].Shape(), want[k].Shape()) {
							t.Errorf("%s, fused %v, call %d, result %d: got %v, want %v", c.name, fuse, i+1, k, got[k], want[k])
						}
					}
				}
				if runs != c.runs {
					t.Errorf("%s: the Go code ran %d times in 12 calls, want %d", c.name, runs, c.runs)
				}
			})
		}
	}
}

// NaN is a number that does not change.
func TestCompileOfNaN(t *testing.T) {
	f := Compile(func(a ...Tensor) []Tensor { return []Tensor{Where(a[0].Gt(0), a[0], math.NaN())} })
	for i := range 5 {
		if got := f(From([]float64{float64(i + 1), -1}))[0].Float64s(); got[0] != float64(i+1) || got[1] == got[1] {
			t.Errorf("call %d: got %v, want %d and NaN", i+1, got, i+1)
		}
	}
}

// What a function computes from what changes in Go is noticed; what cannot be replayed is refused.
func TestCompileRefuses(t *testing.T) {
	x, h := From([]float32{1, 2}).Named("x"), Ones(2)
	w := From([]float32{3, 4}).Named("w").Param()
	known := w.Mul(2).Eval()
	n := 0
	tests := []struct {
		name string
		f    func(a ...Tensor) []Tensor
		want string
	}{
		{"a number that changes", func(a ...Tensor) []Tensor { n++; return []Tensor{a[0].Mul(float64(2 + n))} }, "computes with the number 4 instead of 3 in call 2"},
		{"another graph", func(a ...Tensor) []Tensor {
			if n++; n%2 == 0 {
				return []Tensor{a[0].Exp()}
			}
			return []Tensor{a[0].Log()}
		}, "builds another graph in call 2"},
		{"data of Go's", func(a ...Tensor) []Tensor { n++; return []Tensor{a[0].Add(From([]float32{1, float32(n)}))} }, "makes another [2] of Go's numbers in call 2"},
		{"evaluating", func(a ...Tensor) []Tensor {
			return []Tensor{a[0].Add(Ones(2).Eval()), From([]float32{1, 2}).Snapshot()}
		}, ""},
		{"a tensor of the loop's", func(a ...Tensor) []Tensor {
			y := h
			h = Full(5, 2)
			return []Tensor{a[0].Add(y)}
		}, "reads other tensors in call 2"},
		{"other results", func(a ...Tensor) []Tensor { n++; return slices.Repeat(a, n) }, "returns or sets other tensors in call 2"},
		{"reading", func(a ...Tensor) []Tensor { a[0].Sum().Item(); return nil }, "read: got a tensor of a function that is being compiled"},
		{"reading from outside", func(a ...Tensor) []Tensor { x.Floats(); return nil }, "read: got a tensor of a function that is being compiled"},
		{"printing", func(a ...Tensor) []Tensor { _ = x.Text(80); return nil }, "print: got a tensor of a function that is being compiled"},
		{"making a parameter", func(a ...Tensor) []Tensor { a[0].Mul(2).Param(); return nil }, "param: got a tensor of a function"},
		{"freeing", func(a ...Tensor) []Tensor { x.Free(); return nil }, "free: got a tensor from outside"},
		{"setting an argument", func(a ...Tensor) []Tensor { a[0].Set(a[0].Neg()); return nil }, "set: got an argument"},
		{"history from outside", func(a ...Tensor) []Tensor { return Grad(known.Sum(), w) }, "the loss does not depend on w"},
		{"a result that is none", func(a ...Tensor) []Tensor { return []Tensor{{}} }, "compile: got no tensor"},
	}
	for _, test := range tests {
		n = 0
		f := Compile(test.f)
		err := Try(func() { f(x); f(x) })
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if got := x.Floats(); !slices.Equal(got, []float32{1, 2}) { // and works on
			t.Errorf("%s: x is %v", test.name, got)
		}
	}
	freed := Ones(2).Named("freed").Eval()
	f := Compile(func(...Tensor) []Tensor { return []Tensor{freed.Add(1)} })
	f()
	freed.Free()
	if err := Try(func() { f() }); err == nil || !strings.Contains(err.Error(), "got freed f32[2], which was freed") {
		t.Errorf("a freed tensor: got %v", err)
	}
	kept, gone := Ones(1024).Eval(), Ones(1024).Named("gone").Eval()
	f = Compile(func(...Tensor) []Tensor { return []Tensor{kept, gone} })
	Free(f()...)
	gone.Free()
	block := kept.node("test").Value().Buf.(*backend.Block)
	before := block.References()
	if err := Try(func() { f() }); err == nil || block.References() != before {
		t.Errorf("a result that was freed: got %v and %d holders of another result, want an error and %d", err, block.References(), before)
	}
}

// A call that is interrupted sets nothing, and the next one is right.
func TestCompiledInterrupted(t *testing.T) {
	state := Zeros(4).Param()
	called := 0
	f := Compile(func(a ...Tensor) []Tensor {
		state.Set(state.Add(a[0].Sum()))
		Callback(func([]Tensor) { called++ })
		return []Tensor{state}
	})
	for i := range 6 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := Try(func() { Within(ctx, func() { f(Ones(2)) }) })
		if err == nil || err.Error() != "eval: context canceled" && err.Error() != "eval: interrupted" {
			t.Errorf("got %v", err)
		}
		f(Ones(2).Eval())
		if got, want := state.Floats()[0], float32(2*(i+1)); got != want || called != i+1 {
			t.Errorf("call %d: the state is %v, want %v; %d callbacks", i, got, want, called)
		}
	}
}

// Traces are of one goroutine; what others compute meanwhile is theirs.
func TestCompileBesideOthers(t *testing.T) {
	var wait sync.WaitGroup
	total := Zeros(3).Param()
	add := Compile(func(a ...Tensor) []Tensor { total.Set(total.Add(a[0])); return nil })
	for i := range 4 {
		wait.Go(func() {
			own := Zeros(2).Param()
			for k := range 30 {
				f := Compile(func(a ...Tensor) []Tensor { return []Tensor{a[0].Mul(float64(i)).Add(own)} })
				for range 3 {
					if got, want := f(Full(float64(k), 2))[0].Floats()[1], float32(i*k)+own.Floats()[0]; got != want {
						t.Errorf("compiled: got %v, want %v", got, want)
					}
				}
				own.Set(own.Add(1))
				if got := own.Floats()[0]; got != float32(k+1) {
					t.Errorf("beside: got %v, want %v", got, k+1)
				}
				add(Ones(3).Eval())
			}
		})
	}
	wait.Wait()
	if got := total.Floats()[2]; got != 120 {
		t.Errorf("the shared state is %v, want 120", got)
	}
}

func ExampleCompile() {
	w := From([]float32{0, 0}).Param()
	step := Compile(func(args ...Tensor) []Tensor {
		x, y := args[0], args[1]
		loss := x.MatMul(w).Sub(y).Square().Mean()
		w.Set(w.Sub(Grad(loss, w)[0].Mul(0.1)))
		return []Tensor{loss}
	})
	x := From([][]float32{{1, 0}, {0, 1}, {1, 1}})
	y := x.MatMul(From([]float32{2, -1}))
	var loss float64
	for range 200 {
		loss = step(x, y)[0].Item()
	}
	fmt.Printf("loss %.4f, w %.2f", loss, w.Floats())
	// Output: loss 0.0000, w [2.00 -1.00]
}

// A trace belongs to the goroutine that compiles: others compile, build and evaluate meanwhile, and scopes
// within the function are traced.
func TestCompileSideBySide(t *testing.T) {
	w := From([]float64{1, 2, 3}).Param()
	const n = 4
	var inside, done sync.WaitGroup // all are inside of their functions at once
	inside.Add(n)
	for i := range n {
		done.Go(func() {
			f := Compile(func(args ...Tensor) (results []Tensor) {
				inside.Done()
				inside.Wait()
				Within(WithRNG(t.Context(), NewRNG(1)), func() {
					if err := Try(func() { w.Floats() }); err == nil {
						t.Error("a value was read inside of a function that is being compiled")
					}
					results = []Tensor{args[0].Mul(w).Sum()}
				})
				return results
			})
			if got := f(Scalar(float64(i)))[0].Item(); got != float64(6*i) {
				t.Errorf("function %d: got %v, want %d", i, got, 6*i)
			}
		})
	}
	done.Go(func() {
		inside.Wait()
		if got := w.Add(1).Sum().Item(); got != 9 {
			t.Errorf("beside the functions: got %v, want 9", got)
		}
	})
	done.Wait()
	if n := box.Traces(); n != 0 {
		t.Errorf("%d traces are left", n)
	}
}
