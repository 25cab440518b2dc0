package main

import "fmt"

func try(name string, f func()) {
	defer func() { fmt.Println(name, recover()) }()
	f()
	fmt.Println(name, "returned")
}

type T struct{}

func (T) direct() { recover() }

func direct()   { recover() }
func deferred() { defer recover() }

func main() {
	try("deferred", func() { defer recover(); panic(1) })
	try("deferred in a literal", func() { defer func() { defer recover() }(); panic(1) })
	try("in parentheses", func() { defer func() { defer (recover)() }(); panic(1) })
	try("in a loop", func() {
		defer func() {
			for range 2 {
				defer recover()
			}
		}()
		panic(1)
	})
	try("deferred in a function", func() { defer deferred(); panic(1) })
	try("deferred in a called function", func() { defer func() { deferred() }(); panic(1) })
	try("deferred in a variable", func() { f := func() { defer recover() }; defer f(); panic(1) })
	try("of a literal's own panic", func() { defer func() { defer recover(); panic(2) }(); panic(1) })
	try("of a deferred panic", func() { defer func() { defer func() { defer recover() }(); panic(2) }(); panic(1) })
	try("in a literal of a literal", func() { defer func() { defer func() { defer recover() }() }(); panic(1) })
	try("called in a literal of a literal", func() { defer func() { defer func() { recover() }() }(); panic(1) })
	try("called in a called literal", func() { defer func() { func() { recover() }() }(); panic(1) })
	try("called in a function", func() { defer direct(); panic(1) })
	try("called in a function that a literal defers", func() { defer func() { defer direct() }(); panic(1) })
	try("called in a function that a literal calls", func() { defer func() { direct() }(); panic(1) })
	try("called in a method", func() { defer T{}.direct(); panic(1) })
	try("as an argument", func() { defer func() { defer fmt.Print(recover(), " ") }(); panic(1) })
	try("by another goroutine", func() { defer func() { go recover() }(); panic(1) })
}
