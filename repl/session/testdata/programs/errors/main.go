package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

type opError struct {
	Op  string
	Err error
}

func (e opError) Error() string { return e.Op + ": " + e.Err.Error() }
func (e opError) Unwrap() error { return e.Err }
func (e opError) Is(target error) bool {
	t, ok := target.(opError)
	return ok && t.Op == e.Op
}

func read(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return opError{"read", err}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ErrUnexpectedEOF
}

func safe(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(error); ok {
				err = fmt.Errorf("recovered: %w", e)
			} else {
				err = fmt.Errorf("recovered: %v", r)
			}
		}
	}()
	f()
	return nil
}

func main() {
	err := read("/no/such/file")
	fmt.Println(errors.Is(err, fs.ErrNotExist), errors.Is(err, opError{Op: "read"}), errors.Is(err, opError{Op: "write"}))
	var pe *fs.PathError
	fmt.Println(errors.As(err, &pe), pe.Path, pe.Op)
	var oe opError
	fmt.Println(errors.As(fmt.Errorf("outer: %w", err), &oe), oe.Op)
	_, err = strconv.Atoi("x1")
	var ne *strconv.NumError
	if errors.As(err, &ne) {
		fmt.Println(ne.Func, ne.Num, ne.Err == strconv.ErrSyntax)
	}
	fmt.Println(safe(func() { panic("text") }))
	fmt.Println(safe(func() { panic(opError{"p", io.EOF}) }))
	fmt.Println(errors.Is(safe(func() { panic(opError{"p", io.EOF}) }), io.EOF))
	fmt.Println(safe(func() { var m map[string]int; m["a"]++ }))
	fmt.Println(safe(func() { a, b := 1, 0; fmt.Println(a / b) }))
	fmt.Println(safe(func() { var p *opError; fmt.Println(p.Op) }))
	fmt.Println(safe(func() { var x any = "s"; fmt.Println(x.(int)) }))
	fmt.Println(safe(func() { var x any; fmt.Println(x.(fmt.Stringer)) }))
	fmt.Println(safe(func() { close((chan int)(nil)) }))
	j := errors.Join(io.EOF, nil, fmt.Errorf("two: %w", os.ErrClosed))
	fmt.Println(j, errors.Is(j, os.ErrClosed))
	e2, ok := errors.AsType[*strconv.NumError](err)
	fmt.Println(ok, e2.Num)
}
