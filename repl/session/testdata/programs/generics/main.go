package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

type Number interface {
	~int | ~int64 | ~float64
}

func Sum[T Number](xs ...T) (s T) {
	for _, x := range xs {
		s += x
	}
	return s
}

func Map[T, U any](xs []T, f func(T) U) []U {
	out := make([]U, 0, len(xs))
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}

func Reduce[T, A any](xs []T, a A, f func(A, T) A) A {
	for _, x := range xs {
		a = f(a, x)
	}
	return a
}

type Stack[T any] struct{ items []T }

func (s *Stack[T]) Push(x T) { s.items = append(s.items, x) }
func (s *Stack[T]) Pop() (T, error) {
	var zero T
	if len(s.items) == 0 {
		return zero, errors.New("empty stack")
	}
	x := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return x, nil
}

type Tree[K cmp.Ordered, V any] struct {
	root *node[K, V]
	n    int
}

type node[K cmp.Ordered, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
}

func (t *Tree[K, V]) Put(k K, v V) {
	p := &t.root
	for *p != nil {
		switch c := cmp.Compare(k, (*p).key); {
		case c < 0:
			p = &(*p).left
		case c > 0:
			p = &(*p).right
		default:
			(*p).value = v
			return
		}
	}
	*p = &node[K, V]{key: k, value: v}
	t.n++
}

func (t *Tree[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.root.walk(yield) }
}

func (n *node[K, V]) walk(yield func(K, V) bool) bool {
	return n == nil || n.left.walk(yield) && yield(n.key, n.value) && n.right.walk(yield)
}

type Set[T comparable] map[T]struct{}

func SetOf[T comparable](xs ...T) Set[T] {
	s := Set[T]{}
	for _, x := range xs {
		s[x] = struct{}{}
	}
	return s
}
func (s Set[T]) Has(x T) bool { _, ok := s[x]; return ok }

type Pair[A, B any] struct {
	First  A
	Second B
}

func (p Pair[A, B]) String() string { return fmt.Sprintf("<%v|%v>", p.First, p.Second) }

func Zip[A, B any](as []A, bs []B) (out []Pair[A, B]) {
	for i := range min(len(as), len(bs)) {
		out = append(out, Pair[A, B]{as[i], bs[i]})
	}
	return out
}

type Celsius float64

func main() {
	fmt.Println(Sum(1, 2, 3), Sum(1.5, 2), Sum[Celsius](20, 1.5), Sum[int]())
	fmt.Println(Map([]int{1, 2, 3}, func(i int) string { return strings.Repeat("x", i) }))
	fmt.Println(Reduce([]string{"a", "bb"}, 0, func(n int, s string) int { return n + len(s) }))
	var s Stack[string]
	s.Push("a")
	s.Push("b")
	fmt.Println(s.Pop())
	fmt.Println(s.Pop())
	fmt.Println(s.Pop())
	var t Tree[string, int]
	for i, w := range strings.Fields("the quick brown fox jumps over the lazy dog") {
		t.Put(w, i)
	}
	for k, v := range t.All() {
		if k == "quick" {
			break
		}
		fmt.Print(k, "=", v, " ")
	}
	fmt.Println(t.n)
	set := SetOf(1, 2, 2, 3)
	fmt.Println(len(set), set.Has(2), set.Has(5))
	fmt.Println(Zip([]int{1, 2}, []string{"one", "two", "three"}))
	fmt.Printf("%v %+v %T\n", Pair[int, bool]{1, true}, &Pair[string, []int]{"a", nil}, Pair[int, bool]{})
	m := map[string]int{"b": 2, "a": 1, "c": 3}
	keys := slices.Sorted(maps.Keys(m))
	slices.Reverse(keys)
	fmt.Println(keys, slices.Max(keys), slices.Index(keys, "b"), slices.Contains(keys, "z"))
	people := []Pair[string, int]{{"x", 3}, {"y", 1}, {"z", 3}}
	slices.SortStableFunc(people, func(a, b Pair[string, int]) int {
		return cmp.Or(-cmp.Compare(a.Second, b.Second), strings.Compare(b.First, a.First))
	})
	fmt.Println(people)
	for c := range slices.Chunk([]int{1, 2, 3, 4, 5}, 2) {
		fmt.Print(c)
	}
	next, stop := iter.Pull(slices.Values([]int{7, 8}))
	a, ok := next()
	stop()
	fmt.Println(a, ok)
}
