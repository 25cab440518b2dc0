package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// I takes parts of the axes, given as the text of NumPy's x[…]. x.I(":, 0") is the first column,
// x.I("1:3, ..., ::-1") has two rows with the last axis reversed, and x.I("None, -1") is the last row with an
// axis in front. A list takes several: x.I("[0, 2]"). Each ? is a [Pick] of the next tensor: x.I("?, 0",
// mask). A mistake in the text is an error that names its column. [Tensor.Index] has the rules.
func (t Tensor) I(parts string, tensors ...Tensor) Tensor {
	n := t.node("i")
	return regionOf("i", n, readParts("i", t, parts, tensors)).of(t)
}

// SetI returns t with y where a text says, as for [Tensor.I]. T does not change: x = x.SetI(":, 0", y) keeps
// the result. [Tensor.SetIndex] has the rules.
func (t Tensor) SetI(parts string, y Operand, tensors ...Tensor) Tensor {
	return t.setIndex("set_i", y, readParts("set_i", t, parts, tensors))
}

// readParts reads the text of an index.
func readParts(op string, t Tensor, text string, tensors []Tensor) (list []Part) {
	r := &partReader{op: op, text: text, like: t, tensors: tensors}
	if r.blanks(); r.at < len(text) {
		list = append(list, r.part())
		for r.blanks(); r.at < len(text); r.blanks() {
			r.want(",")
			if r.blanks(); r.at == len(text) { // as in Python, one comma may stand at the end
				break
			}
			list = append(list, r.part())
		}
	}
	if len(r.tensors) > 0 {
		fail(op, "got %d tensors for %q, want one for each ?", len(tensors), text)
	}
	return list
}

// A partReader reads parts from left to right.
type partReader struct {
	op, text string
	at       int
	like     Tensor // whose device an index has
	tensors  []Tensor
}

func (r *partReader) blanks() {
	for r.at < len(r.text) && strings.IndexByte(" \t\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// take skips a text if it comes next.
func (r *partReader) take(s string) bool {
	r.blanks()
	ok := strings.HasPrefix(r.text[r.at:], s)
	if ok {
		r.at += len(s)
	}
	return ok
}

func (r *partReader) want(s string) {
	if !r.take(s) {
		r.fail(strconv.Quote(s))
	}
}

// fail complains about what comes next.
func (r *partReader) fail(want string) {
	got := "the end"
	if rest := r.text[r.at:]; rest != "" {
		got = fmt.Sprintf("%q", strings.SplitN(rest, ",", 2)[0])
	}
	fail(r.op, "got %s at column %d of %q, want %s", got, r.at+1, r.text, want)
}

func (r *partReader) part() Part {
	switch {
	case r.take("..."):
		return Rest
	case r.take("None"), r.take("nil"):
		return NewAxis
	case r.take("?"):
		if len(r.tensors) == 0 {
			r.at--
			r.fail("a tensor for it behind the text")
		}
		index := r.tensors[0]
		r.tensors = r.tensors[1:]
		return Pick(index)
	case r.take("["):
		return r.list()
	}
	start, given := r.number()
	if !r.take(":") {
		if !given {
			r.fail("a number, a range, ..., None, ? or a list")
		}
		return At(start)
	}
	stop, given2 := r.number()
	step, given3 := 1, false
	if r.take(":") {
		if step, given3 = r.number(); !given3 {
			step = 1
		}
	}
	if !given && !given2 && !given3 {
		return All
	}
	return SpanStep(start, stop, step)
}

// list reads a list of indices behind its bracket.
func (r *partReader) list() Part {
	index := []int{}
	for !r.take("]") {
		if len(index) > 0 {
			r.want(",")
		}
		i, ok := r.number()
		if !ok {
			r.blanks()
			r.fail("a number or ]")
		}
		index = append(index, i)
	}
	return Pick(fromBeside(r.like, index, len(index)))
}

// number reads a number, if one comes next; else it is Open.
func (r *partReader) number() (n int, ok bool) {
	r.blanks()
	end := r.at
	if end < len(r.text) && (r.text[end] == '-' || r.text[end] == '+') {
		end++
	}
	for end < len(r.text) && '0' <= r.text[end] && r.text[end] <= '9' {
		end++
	}
	digits := r.text[r.at:end]
	if digits == "" {
		return Open, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n == Open {
		r.fail("a number")
	}
	r.at = end
	return n, true
}
