// Every generic function of slices, maps, cmp, and those of other packages, with several instantiations.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

type ID int

type Name string

type Point struct{ X, Y int }

func (p Point) Compare(q Point) int { return cmp.Or(cmp.Compare(p.X, q.X), cmp.Compare(p.Y, q.Y)) }

type IDs []ID

type Table map[Name]Point

func show(title string, values ...any) { fmt.Println(append([]any{title}, values...)...) }

// ordered runs what works on slices of ordered elements.
func ordered[S ~[]E, E cmp.Ordered](title string, xs S, probe E) {
	try := func(name string, f func() any) {
		defer func() {
			if r := recover(); r != nil {
				fmt.Println(title, name, "panic", r != nil)
			}
		}()
		fmt.Printf("%s %s %v\n", title, name, f())
	}
	clone := func() S { return slices.Clone(xs) }
	sorted := clone()
	slices.Sort(sorted)
	try("Sort", func() any { return sorted })
	try("IsSorted", func() any { return slices.IsSorted(xs) })
	try("BinarySearch", func() any { i, ok := slices.BinarySearch(sorted, probe); return fmt.Sprint(i, ok) })
	try("Compact", func() any { return slices.Compact(clone()) })
	try("Compare", func() any { return slices.Compare(xs, sorted) })
	try("Contains", func() any { return slices.Contains(xs, probe) })
	try("Delete", func() any { return slices.Delete(clone(), 1, 2) })
	try("Delete out of range", func() any { return slices.Delete(clone(), 1, 200) })
	try("DeleteFunc", func() any { return slices.DeleteFunc(clone(), func(x E) bool { return x == probe }) })
	try("Equal", func() any { return slices.Equal(xs, sorted) })
	try("Index", func() any { return slices.Index(xs, probe) })
	try("IndexFunc", func() any { return slices.IndexFunc(xs, func(x E) bool { return x > probe }) })
	try("Insert", func() any { return slices.Insert(clone(), 1, probe, probe) })
	try("Max", func() any { return slices.Max(xs) })
	try("Min", func() any { return slices.Min(xs) })
	try("Repeat", func() any { return slices.Repeat(xs, 2) })
	try("Repeat below zero", func() any { return slices.Repeat(xs, -2) })
	try("Replace", func() any { return slices.Replace(clone(), 0, 2, probe) })
	try("Replace by more", func() any { return slices.Replace(clone(), 0, 1, probe, probe, probe) })
	try("Reverse", func() any { ys := clone(); slices.Reverse(ys); return ys })
	try("Sorted", func() any { return slices.Sorted(slices.Values(xs)) })
	try("Collect", func() any { return slices.Collect(slices.Values(xs)) })
	try("AppendSeq", func() any { return slices.AppendSeq(clone(), slices.Values(xs)) })
	try("Concat", func() any { return slices.Concat(xs, sorted, xs) })
	try("Grow", func() any { return cap(slices.Grow(clone(), 100)) >= 100 })
	try("Clip", func() any { ys := slices.Clip(clone()); return cap(ys) - len(ys) })
	try("Chunk", func() any { return fmt.Sprint(slices.Collect(slices.Chunk(xs, 2))) })
	try("min max", func() any { return fmt.Sprint(min(probe, xs[0]), max(probe, xs[0], xs[1])) })
	try("cmp", func() any { return fmt.Sprint(cmp.Compare(probe, xs[0]), cmp.Less(probe, xs[0]), cmp.Or(probe, xs[0])) })
	try("All", func() any {
		s := ""
		for i, x := range slices.All(xs) {
			s += fmt.Sprint(i, x, ";")
		}
		return s
	})
	try("Backward", func() any {
		s := ""
		for i, x := range slices.Backward(xs) {
			if i == 0 {
				break
			}
			s += fmt.Sprint(i, x, ";")
		}
		return s
	})
}

// by runs what takes functions.
func by[S ~[]E, E any](title string, xs S, compare func(a, b E) int, same func(a, b E) bool) {
	ys := slices.Clone(xs)
	slices.SortFunc(ys, compare)
	show(title+" SortFunc", ys)
	ys = slices.Clone(xs)
	slices.SortStableFunc(ys, compare)
	show(title+" SortStableFunc", ys, slices.IsSortedFunc(ys, compare), slices.IsSortedFunc(xs, compare))
	i, ok := slices.BinarySearchFunc(ys, xs[0], compare)
	show(title+" BinarySearchFunc", i, ok)
	show(title+" CompactFunc", slices.CompactFunc(slices.Clone(ys), same))
	show(title+" EqualFunc", slices.EqualFunc(xs, ys, same), slices.CompareFunc(xs, ys, compare))
	show(title+" ContainsFunc", slices.ContainsFunc(xs, func(x E) bool { return same(x, xs[len(xs)-1]) }))
	show(title+" MaxFunc", slices.MaxFunc(xs, compare), slices.MinFunc(xs, compare))
	show(title+" SortedFunc", slices.SortedFunc(slices.Values(xs), compare), slices.SortedStableFunc(slices.Values(xs), compare))
	show(title+" DeleteFunc", slices.DeleteFunc(slices.Clone(xs), func(x E) bool { return same(x, xs[0]) }))
}

func inMaps[M ~map[K]V, K cmp.Ordered, V any](title string, m M, same func(a, b V) bool) {
	n := maps.Clone(m)
	show(title+" Keys", slices.Sorted(maps.Keys(m)), len(slices.Collect(maps.Values(m))))
	show(title+" EqualFunc", maps.EqualFunc(m, n, same))
	maps.DeleteFunc(n, func(k K, v V) bool { return k == slices.Min(slices.Collect(maps.Keys(m))) })
	show(title+" DeleteFunc", n)
	maps.Copy(n, m)
	show(title+" Copy", n)
	show(title+" Collect", maps.Collect(maps.All(m)))
	maps.Insert(n, maps.All(m))
	clear(n)
	show(title+" clear", n, len(n))
}

func pairs[A, B any](xs []A, ys []B) iter.Seq2[A, B] {
	return func(yield func(A, B) bool) {
		for i := range min(len(xs), len(ys)) {
			if !yield(xs[i], ys[i]) {
				return
			}
		}
	}
}

func main() {
	ordered("int", []int{3, 1, 2, 2, 3}, 2)
	ordered("ID", IDs{3, 1, 2, 2}, ID(2))
	ordered("float64", []float64{2.5, -1, 0, 2.5}, 0)
	ordered("string", []string{"b", "a", "c", "c"}, "c")
	ordered("Name", []Name{"b", "a", "a"}, "a")
	ordered("uint8", []byte("hello"), 'l')
	ordered("int32", []rune("wörld"), 'ö')

	by("Point", []Point{{2, 1}, {1, 2}, {2, 1}}, Point.Compare, func(a, b Point) bool { return a == b })
	by("string", []string{"bb", "a", "CC", "A"}, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }, strings.EqualFold)
	by("any", []any{2, 1.5, "x"}, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }, func(a, b any) bool { return a == b })
	by("slice", [][]int{{2}, {1, 2}, {1}}, slices.Compare[[]int], slices.Equal[[]int])

	inMaps("map", map[string]int{"a": 1, "b": 2}, func(a, b int) bool { return a == b })
	inMaps("Table", Table{"p": {1, 2}, "q": {3, 4}}, func(a, b Point) bool { return a == b })
	inMaps("slices", map[ID][]int{1: {1}, 2: nil}, slices.Equal[[]int])
	show("Equal", maps.Equal(Table{"p": {1, 2}}, Table{"p": {1, 2}}), maps.Equal(map[ID]string{1: "a"}, map[ID]string{1: "b"}))

	for a, b := range pairs([]int{1, 2, 3}, []string{"x", "y"}) {
		show("pairs", a, b)
	}
	next, stop := iter.Pull2(pairs([]Point{{1, 2}}, []Name{"n"}))
	fmt.Println(next())
	fmt.Println(next())
	stop()
	one, end := iter.Pull(slices.Values([]ID{7, 8}))
	fmt.Println(one())
	end()
	fmt.Println(one())

	var box atomic.Pointer[Point]
	show("Pointer", box.Load() == nil, box.CompareAndSwap(nil, &Point{1, 2}), *box.Load(), *box.Swap(&Point{3, 4}))
	once := sync.OnceValue(func() Point { fmt.Println("once"); return Point{5, 6} })
	show("OnceValue", once(), once())
	pair := sync.OnceValues(func() (Name, error) { return "n", fs.ErrNotExist })
	name, err := pair()
	show("OnceValues", name, err)
	var pe *fs.PathError
	wrapped := fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})
	show("AsType", errors.As(wrapped, &pe), pe.Path)
	if pe, ok := errors.AsType[*fs.PathError](wrapped); ok {
		show("AsType", pe.Op)
	}
	show("TypeFor", reflect.TypeFor[map[string][]int]())
	r := rand.New(rand.NewPCG(1, 2))
	show("rand.N", rand.N(ID(1)), r.IntN(1))
	indexes := sort.Search(10, func(i int) bool { return i >= 4 })
	show("Search", indexes)
	i, found := sort.Find(3, func(i int) int { return strings.Compare("b", []string{"a", "b", "c"}[i]) })
	show("Find", i, found)
	f := slices.Max[IDs]
	g := maps.Keys[map[Name]int]
	show("values", f(IDs{1, 5, 2}), slices.Collect(g(map[Name]int{"only": 1})))
}
