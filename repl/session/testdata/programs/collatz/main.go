package main

import "fmt"

func collatz(n int, cache map[int]int) int {
	if n == 1 {
		return 1
	}
	if l, ok := cache[n]; ok {
		return l
	}
	next := n / 2
	if n%2 == 1 {
		next = 3*n + 1
	}
	l := 1 + collatz(next, cache)
	cache[n] = l
	return l
}

func main() {
	cache := make(map[int]int)
	best, length := 0, 0
	for n := 1; n < 3000; n++ {
		if l := collatz(n, cache); l > length {
			best, length = n, l
		}
	}
	fmt.Println(best, length, len(cache))
}
