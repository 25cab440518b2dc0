package session

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// TestRunProgram checks a program's output, its exit status, and its message when it panics.
func TestRunProgram(t *testing.T) {
	const main = "package main\nimport (\"errors\"; \"fmt\"; \"log\"; \"os\")\nvar _, _, _ = errors.New, log.Print, os.Exit\nfunc main() { defer fmt.Println(\"deferred\"); "
	for _, test := range []struct {
		name   string
		files  []string
		stdout string
		stderr string // what the output must begin with
		status int
	}{
		{"returns", []string{main + `fmt.Println("hi") }`}, "hi\ndeferred\n", "", 0},
		{"exits without its deferred calls", []string{main + `os.Exit(3) }`}, "", "", 3},
		{"exits in another goroutine", []string{main + `go os.Exit(4); select {} }`}, "", "", 4},
		{"panics", []string{main + `panic(errors.New("boom")) }`}, "deferred\n", "panic: boom\n\ngoroutine 1 [running]:\nmain.main(...)\n\ta.go:4\n", 2},
		{"indexes too far", []string{main + `s := []int{1}; i := 5; s[i]++ }`}, "deferred\n", "panic: runtime error: index out of range", 2},
		{"panics in another goroutine", []string{main + `go func() { panic("there") }(); select {} }`}, "", "panic: there\n\ngoroutine", 2},
		{"waits for itself", []string{main + `c := make(chan int); go func() { c <- 1; c <- 2 }(); <-c; <-c; <-c }`}, "", "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n", 2},
		{"waits for a group", []string{"package main\nimport \"sync\"\nfunc main() { var g sync.WaitGroup; g.Add(2); go g.Done(); g.Wait() }"}, "", "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [sync.WaitGroup.Wait]:", 2},
		{"waits for a lock", []string{"package main\nimport \"sync\"\nfunc main() { var m sync.Mutex; m.Lock(); m.Lock() }"}, "", "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [sync.Mutex.Lock]:", 2},
		{"waits for nothing", []string{"package main\nfunc main() { select {} }"}, "", "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:", 2},
		{"sleeps, and then goes on", []string{"package main\nimport \"time\"\nfunc main() { c := make(chan int); go func() { time.Sleep(200 * time.Millisecond); c <- 1 }(); println(<-c) }"}, "", "1\n", 0},
		{"waits for a timer", []string{"package main\nimport \"time\"\nfunc main() { <-time.After(200 * time.Millisecond) }"}, "", "", 0},
		{"gives up", []string{main + `log.SetFlags(0); log.Fatal("no more") }`}, "", "no more\n", 1},
		{"prints with println", []string{main + `println("x", 1, true) }`}, "deferred\n", "x 1 true\n", 0},
		{"initialises variables in the order of their use", []string{main + "fmt.Println(a, b, c) }\nvar a = b + 1\nvar b = f()\nvar c = a\nfunc f() int { return 41 }"}, "42 41 42\ndeferred\n", "", 0},
		{"runs init functions after the variables", []string{main + "fmt.Println(n) }\nfunc init() { n *= 10 }\nfunc init() { n++ }\nvar n = 2"}, "21\ndeferred\n", "", 0},
		{"has two files", []string{main + `fmt.Println(other(2), T{3}.Double()) }`, "package main\nimport str \"strings\"\nfunc other(n int) string { return str.Repeat(\"ab\", n) }\ntype T struct{ n int }\nfunc (t T) Double() int { return 2 * t.n }"}, "abab 6\ndeferred\n", "", 0},
		{"has generic code", []string{main + "fmt.Println(Map([]int{1, 2}, func(i int) string { return fmt.Sprint(-i) }), Pair[int]{1, 2}.Sum()) }\n" +
			"func Map[A, B any](xs []A, f func(A) B) (ys []B) { for _, x := range xs { ys = append(ys, f(x)) }; return ys }\ntype Pair[T int | float64] struct{ a, b T }\nfunc (p Pair[T]) Sum() T { return p.a + p.b }"},
			"[-1 -2] 3\ndeferred\n", "", 0},
		{"names its types", []string{main + "fmt.Printf(\"%T %v\\n\", P{1}, any(&P{2}).(fmt.Stringer)) }\ntype P struct{ x int }\nfunc (p *P) String() string { return \"p\" }"}, "main.P p\ndeferred\n", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status, err := RunProgram(context.Background(), programFiles(test.files), Options{Stdout: &stdout, Stderr: &stderr})
			if err != nil {
				t.Fatal(err)
			}
			if status != test.status || stdout.String() != test.stdout || !strings.HasPrefix(stderr.String(), test.stderr) {
				t.Errorf("status %d, stdout %q, stderr %q; want %d, %q, %q…", status, &stdout, &stderr, test.status, test.stdout, test.stderr)
			}
		})
	}
}

func programFiles(texts []string) (files []ProgramFile) {
	for i, text := range texts {
		files = append(files, ProgramFile{Name: string(rune('a'+i)) + ".go", Source: text})
	}
	return files
}

// TestRefusedPrograms shows how programs are refused that are not Go or that cannot be run rightly.
func TestRefusedPrograms(t *testing.T) {
	for _, test := range []struct {
		files []string
		want  []string
	}{
		{[]string{"package main\nfunc main() {\n\tx := 1\n}"}, []string{"a.go:3:2: declared and not used: x"}},
		{[]string{"package main\nimport \"os\"\nfunc main() {}"}, []string{`a.go:2:8: "os" imported and not used`}},
		{[]string{"package main\nfunc main() { f( }"}, []string{"a.go:2:18: expected operand, found '}'"}},
		{[]string{"package main\nfunc main() { f() }", "package main\nfunc f() { undefined() }"}, []string{"b.go:2:12: undefined: undefined"}},
		{[]string{"package main\nvar x = 1"}, []string{"a.go:1:1: function main is undeclared in the main package"}},
		{[]string{"package p\nfunc main() {}"}, []string{"a.go:1:9: got package p, want package main"}},
		{[]string{"package main\nfunc f()\nfunc main() { f() }"}, []string{"a.go:2:1: missing function body"}},
		{[]string{"package main\nimport \"C\"\nfunc main() { C.f() }"}, []string{"a.go:2:8: package C: not in the standard library"}},
	} {
		status, err := RunProgram(context.Background(), programFiles(test.files), Options{})
		var pe *ProgramError
		if !errors.As(err, &pe) {
			t.Errorf("%q: got status %d and error %v, want a refusal", test.files, status, err)
			continue
		}
		if got := pe.Error(); got != strings.Join(test.want, "\n") || status != 1 {
			t.Errorf("%q: status %d\n%s\nwant 1\n%s", test.files, status, got, strings.Join(test.want, "\n"))
		}
	}
}
