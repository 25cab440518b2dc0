package cell

import (
	"reflect"
	"slices"
	"testing"
)

// A line that assigns the output of a command is told from Go, which negates conditions.
func TestCaptures(t *testing.T) {
	for _, tt := range []struct {
		line string
		want bool
	}{
		{"files := !ls -l *.go", true},
		{"files = !ls *.go", true},
		{"x := !git log --oneline | head -3", true},
		{"x := !echo it's", true},
		{`x := !echo "a b"`, true},
		{"x := !ls /", true},
		{"x := !./run", true},
		{"x := !(cd /tmp; ls)", true},
		{"x := !awk '{ print $1 }' f", true},
		{"x := !make && ./run", true},
		{"x := !ls *", true},
		{"out, err := !make", true},
		{"_ = !ls -l /", true},
		{"files := !ls", false}, // by its text alone: see TestCapturesOfNames
		{"files := !ls -l", false},
		{"m := !mask | other", false}, // of tensors
		{"m := !mask |", false},
		{"x := !done", false},
		{"x := !done // or not", false},
		{"x := !a && b", false},
		{"x := !a && n-1 > 2", false},
		{"x := !a == b", false},
		{"x := !a.b(c)[d]", false},
		{"x := !(a && b)", false},
		{"x := !a &&", false},
		{"x := !a ||", false},
		{"x := !f(", false},
		{"x := !slices.ContainsFunc(xs, func(x int) bool {", false},
		{"x := !func() bool {", false},
		{"x != y", false},
		{"x == !y", false},
		{"m[k] = !ls -l /", false},
		{"f(x = !y)", false},
		{"x := !", false},
	} {
		if got := captures(tt.line); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.line, got, tt.want)
		}
		pieces := Split("a := 1\n" + tt.line + "\nb := 2")
		if got := len(pieces) == 3 && pieces[1].Kind == Command; got != tt.want {
			t.Errorf("%s among statements: a command is %v, want %v", tt.line, got, tt.want)
		}
	}
}

// What looks like Go is a command where no code knows its name.
func TestCapturesOfNames(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want []Kind
	}{
		{"files := !ls", []Kind{Command}},
		{"files := !ls -l", []Kind{Command}},
		{"files := !ls | wc", []Kind{Command}},
		{"y := !mask | ls", []Kind{Statement}},
		{"ls := mask\nfiles := !ls - l", []Kind{Statement, Statement}},
		{"ls := true\nfiles := !ls", []Kind{Statement, Statement}},
		{"x := !date\ny := !ls", []Kind{Statement, Command}},
		{"func f() bool { x := !ls; return x }", []Kind{Declaration}},
	} {
		var got []Kind
		for _, p := range Captures(tt.src, Split(tt.src), func(name string) bool { return name == "ls" }) {
			got = append(got, p.Kind)
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.src, got, tt.want)
		}
	}
}

// A command line that negates what is known is Go, unless a blank behind the sign asks for the shell.
func TestNegations(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want Kind
	}{
		{"!ok", Statement},
		{"!(a > b)", Statement},
		{"!!ok && len(list) > 2", Statement},
		{"!strings.Contains(name, `x`)", Statement},
		{"!x.Gt(1).All().Item()", Statement},
		{"!list[0] || ok", Statement},
		{"! ok", Command},
		{"!", Command},
		{"!ls", Command},
		{"!ls -l", Command},
		{"!a", Command}, // after it was forgotten
		{"!make", Command},
		{"!make ok", Command},
		{"!run.sh", Command},
		{"!(a > unknown)", Command},
		{"!echo ok", Command},
		{"!true", Statement},
		{"!(false || true)", Statement},
		{"!nil", Command},
		{"%time !ok", Command},
	} {
		known := []string{"a", "b", "ok", "list", "name", "strings", "x"}
		if tt.src == "!a" {
			known = nil
		}
		pieces := Split(tt.src)
		negated := Negations(tt.src, pieces, func(name string) bool { return slices.Contains(known, name) })
		if pieces[0].Kind != tt.want || (len(negated) == 1) != (tt.want == Statement) {
			t.Errorf("%q: got %v %q, want %v", tt.src, pieces[0].Kind, negated, tt.want)
		}
	}
	src := "ok := 1 > 2\n!ok\n!(ok) "
	pieces := Split(src)
	if got := Negations(src, pieces, func(string) bool { return false }); len(got) != 2 || len(pieces) != 3 || pieces[1].Tokens[0].Text(src) != "!" {
		t.Errorf("%q: got %q of %v", src, got, pieces)
	}
}

// Variables become references that stay one word within any quotes; the shell's own stay the shell's.
func TestFill(t *testing.T) {
	for _, tt := range []struct {
		command, want string
		mentioned     []Mention
	}{
		{"ls {dir}", `ls "${dir}"`, []Mention{{"dir", true}}},
		{"ls {dir}/*.go", `ls "${dir}"/*.go`, []Mention{{"dir", true}}},
		{`ls "{dir}/x"`, `ls "${dir}/x"`, []Mention{{"dir", true}}},
		{`ls '{dir}/x'`, `ls ''"${dir}"'/x'`, []Mention{{"dir", true}}},
		{`echo "it's {n}"`, `echo "it's ${n}"`, []Mention{{"n", true}}},
		{`echo \"{n}`, `echo \""${n}"`, []Mention{{"n", true}}},
		{"ls $dir ${dir} ${dir%x}", "ls $dir ${dir} ${dir%x}", []Mention{{"dir", false}, {"dir", false}, {"dir", false}}},
		{`awk '{print $n}'`, `awk '{print $n}'`, nil},
		{`echo \$n`, `echo \$n`, nil},
		{"echo {other} $HOME {a,b} {n m} { n }", "echo {other} $HOME {a,b} {n m} { n }", nil},
		{"awk '{{n}}'", "awk '{n}'", nil},
		{"echo {n", "echo {n", nil},
	} {
		got, mentioned := Fill(tt.command, func(name string) bool { return name == "dir" || name == "n" })
		if got != tt.want || !reflect.DeepEqual(mentioned, tt.mentioned) {
			t.Errorf("%s: got %s, %v, want %s, %v", tt.command, got, mentioned, tt.want, tt.mentioned)
		}
	}
}
