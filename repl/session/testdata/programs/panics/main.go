package main

import (
	"fmt"
	"os"
)

type T struct{ name string }

func (t *T) Close() { fmt.Println("close", t.name) }

func work(n int) {
	t := &T{fmt.Sprint("t", n)}
	defer t.Close()
	if n == 0 {
		var m map[string]*T
		fmt.Fprintln(os.Stderr, "about to fail")
		m["x"].name = "y"
	}
	work(n - 1)
}

func main() {
	defer fmt.Println("main deferred")
	work(2)
}
