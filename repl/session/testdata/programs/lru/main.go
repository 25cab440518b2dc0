package main

import (
	"container/heap"
	"container/list"
	"container/ring"
	"fmt"
)

type LRU[K comparable, V any] struct {
	size  int
	order *list.List
	items map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func NewLRU[K comparable, V any](n int) *LRU[K, V] {
	return &LRU[K, V]{n, list.New(), map[K]*list.Element{}}
}

func (c *LRU[K, V]) Get(k K) (v V, ok bool) {
	e, ok := c.items[k]
	if !ok {
		return v, false
	}
	c.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

func (c *LRU[K, V]) Put(k K, v V) {
	if e, ok := c.items[k]; ok {
		e.Value = entry[K, V]{k, v}
		c.order.MoveToFront(e)
		return
	}
	c.items[k] = c.order.PushFront(entry[K, V]{k, v})
	if c.order.Len() > c.size {
		last := c.order.Back()
		delete(c.items, c.order.Remove(last).(entry[K, V]).key)
	}
}

type item struct {
	name     string
	priority int
	index    int
}
type queue []*item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].priority > q[j].priority }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i]; q[i].index, q[j].index = i, j }
func (q *queue) Push(x any)        { it := x.(*item); it.index = len(*q); *q = append(*q, it) }
func (q *queue) Pop() any {
	old := *q
	n := len(old)
	it := old[n-1]
	old[n-1] = nil
	*q = old[:n-1]
	return it
}

func main() {
	c := NewLRU[string, int](2)
	c.Put("a", 1)
	c.Put("b", 2)
	c.Get("a")
	c.Put("c", 3)
	_, ok := c.Get("b")
	v, _ := c.Get("a")
	fmt.Println(ok, v, c.order.Len())
	q := &queue{}
	heap.Init(q)
	for i, n := range []string{"low", "high", "mid"} {
		heap.Push(q, &item{name: n, priority: []int{1, 9, 5}[i]})
	}
	(*q)[2].priority = 10
	heap.Fix(q, 2)
	for q.Len() > 0 {
		it := heap.Pop(q).(*item)
		fmt.Print(it.name, ":", it.priority, " ")
	}
	fmt.Println()
	r := ring.New(3)
	for i := range r.Len() {
		r.Value = i
		r = r.Next()
	}
	s := 0
	r.Do(func(x any) { s = s*10 + x.(int) })
	fmt.Println(s)
}
