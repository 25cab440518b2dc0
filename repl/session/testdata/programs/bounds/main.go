// What a panic says of indexes that are out of range.
package main

import "fmt"

func try(f func()) {
	defer func() {
		r := recover()
		_, isError := r.(error)
		fmt.Println(r, isError)
	}()
	f()
}

type Row [3]int
type Text string
type List []string

var global = []int{1, 2}
var sink any

func main() {
	xs := make([]int, 3, 5)
	arr := [3]int{1, 2, 3}
	p := &arr
	s := "héllo"
	grid := [][]float64{{1}, {2, 3}}
	var none []int
	var nilp *[3]int
	i, neg, big := 5, -1, uint64(1<<63)
	var small int8 = -3
	var u8 uint8 = 200
	row := Row{}
	list := List{"a"}
	try(func() { fmt.Println(xs[i]) })
	try(func() { fmt.Println(xs[neg]) })
	try(func() { fmt.Println(xs[big]) })
	try(func() { fmt.Println(xs[small]) })
	try(func() { fmt.Println(xs[u8]) })
	try(func() { xs[i] = 1 })
	try(func() { xs[i]++ })
	try(func() { xs[i+2] += 4 })
	try(func() { fmt.Println(&xs[i]) })
	try(func() { fmt.Println(xs[10]) })
	try(func() { fmt.Println(none[0]) })
	try(func() { fmt.Println(arr[i]) })
	try(func() { arr[neg] = 2 })
	try(func() { fmt.Println(p[i]) })
	try(func() { p[i] = 1 })
	try(func() { fmt.Println(nilp[1]) })
	try(func() { fmt.Println(s[10+i]) })
	try(func() { fmt.Println(Text(s)[i*2]) })
	try(func() { fmt.Println("abc"[i]) })
	try(func() { fmt.Println(grid[1][i]) })
	try(func() { grid[i][1] = 2 })
	try(func() { row[i] = 1 })
	try(func() { list[i] = "b" })
	try(func() { global[i], global[0] = 1, 2 })
	try(func() { global[1], global[i] = 1, 2 })
	try(func() { sink = xs[1 : i+1] })
	try(func() { sink = xs[i:] })
	try(func() { sink = xs[i+1:] })
	try(func() { sink = xs[neg:] })
	try(func() { sink = xs[:neg] })
	try(func() { sink = xs[3 : 1+u8-u8] })
	try(func() { sink = xs[:i+4] })
	try(func() { sink = xs[1 : 2 : i+4] })
	try(func() { sink = xs[1:i:4] })
	try(func() { sink = xs[i-2 : 2 : 4] })
	try(func() { sink = arr[:i] })
	try(func() { sink = arr[i:] })
	try(func() { sink = p[1:i] })
	try(func() { sink = p[i-1 : 2] })
	try(func() { sink = s[i*2:] })
	try(func() { sink = s[:i*2] })
	try(func() { sink = s[4 : i-2] })
	try(func() { sink = s[neg:] })
	try(func() { sink = Text(s)[1 : i*5] })
	try(func() {
		if (func() []bool { return make([]bool, 2) })()[i] {
			fmt.Println("yes")
		}
	})
	try(func() {
		bs := []bool{true}
		if bs[i] {
			fmt.Println("yes")
		}
	})
	try(func() {
		bs := [2]bool{true}
		for bs[i] {
			fmt.Println("yes")
		}
	})
	try(func() { fs := []func(){}; fs[i]() })
	try(func() { ps := []Row{{}}; ps[i][1] = 2 })
	try(func() { ps := []*Row{nil}; ps[0][1] = 2 })
	try(func() { ps := map[string][]int{"a": {1}}; ps["a"][i]++ })
	try(func() { ps := map[string][]int{"a": {1}}; ps["b"][0]++ })
	try(func() {
		for k := range 5 {
			xs[k]++
		}
	})
	fmt.Println(xs[:5], xs[3:], arr[3:], s[len(s):], p[:], len(xs[2:2:2]))
}
