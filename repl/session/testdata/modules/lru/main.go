package main

import (
	"fmt"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

func main() {

	l, _ := lru.New[int, any](128)
	for i := 0; i < 256; i++ {
		l.Add(i, nil)
	}
	if l.Len() != 128 {
		panic(fmt.Sprintf("bad len: %v", l.Len()))
	}
	fmt.Println(l.Len(), l.Keys()[:3], l.Contains(0), l.Contains(200))
	s, err := simplelru.NewLRU[string, int](2, func(k string, v int) { fmt.Println("out", k, v) })
	s.Add("a", 1)
	s.Add("b", 2)
	s.Add("c", 3)
	fmt.Println(s.Get("a"))
	fmt.Println(err)
}
