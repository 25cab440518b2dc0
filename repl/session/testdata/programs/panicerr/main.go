package main

import "fmt"

type E struct{ code int }

func (e E) Error() string { return fmt.Sprintf("code %d", e.code) }

func main() {
	defer func() {
		r := recover()
		fmt.Println("first", r)
		panic(fmt.Sprint("again ", r))
	}()
	panic(E{7})
}
