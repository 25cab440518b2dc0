package main

import (
	"bytes"
	"fmt"
)

type Field struct {
	s    [][]bool
	w, h int
}

func NewField(w, h int) *Field {
	s := make([][]bool, h)
	for i := range s {
		s[i] = make([]bool, w)
	}
	return &Field{s: s, w: w, h: h}
}

func (f *Field) Set(x, y int, b bool) { f.s[y][x] = b }
func (f *Field) Alive(x, y int) bool  { return f.s[(y+f.h)%f.h][(x+f.w)%f.w] }
func (f *Field) Next(x, y int) bool {
	alive := 0
	for i := -1; i <= 1; i++ {
		for j := -1; j <= 1; j++ {
			if (j != 0 || i != 0) && f.Alive(x+i, y+j) {
				alive++
			}
		}
	}
	return alive == 3 || alive == 2 && f.Alive(x, y)
}

type Life struct{ a, b *Field }

func (l *Life) Step() {
	for y := range l.a.h {
		for x := range l.a.w {
			l.b.Set(x, y, l.a.Next(x, y))
		}
	}
	l.a, l.b = l.b, l.a
}

func (l *Life) String() string {
	var buf bytes.Buffer
	for y := range l.a.h {
		for x := range l.a.w {
			b := byte('.')
			if l.a.Alive(x, y) {
				b = '*'
			}
			buf.WriteByte(b)
		}
		buf.WriteByte('\n')
	}
	return buf.String()
}

func main() {
	l := &Life{NewField(8, 6), NewField(8, 6)}
	for _, p := range [][2]int{{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}} {
		l.a.Set(p[0], p[1], true)
	}
	for range 6 {
		l.Step()
	}
	fmt.Print(l)
}
