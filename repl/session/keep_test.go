package session

import (
	"errors"
	"strings"
	"testing"
)

// A call that fails leaves the variables that should have got its results as they were. Of each row the
// second cell fails.
func TestFailedCallsKeepWhatWas(t *testing.T) {
	for _, c := range []struct{ name, before, cell, ask, want string }{
		{"a variable", "n := 7", `n := strconv.Atoi("x")`, "n", "7"},
		{"an assignment", "n := 7", `n = strconv.Atoi("x")`, "n", "7"},
		{"a var declaration", "n := 7", `var n = strconv.Atoi("x")`, "n", "7"},
		{"another type", `n := "seven"`, `n := strconv.Atoi("x")`, "n", `"seven"`},
		{"another type, used by a closure", `n := "seven"; f := func() string { return n }`, `n := strconv.Atoi("x")`, "f(), n", `"seven", "seven"`},
		{"a value beside the error", "n := int64(7)", `n := strconv.ParseInt("99999999999999999999", 10, 64)`, "n", "7 int64"},
		{"a map's element", `m := map[string]int{"a": 7}`, `m["a"] = strconv.Atoi("x")`, "m", `map[string]int{"a": 7}`},
		{"a field", `p := struct{ n int }{7}`, `p.n = strconv.Atoi("x")`, "p.n", "7"},
		{"two values", "a, b := 1, 2; two := func() (int, int, error) { return 3, 4, io.EOF }", "a, b := two()", "a, b", "1, 2"},
		{"a file", `txt := "kept"`, `txt := data.ReadText("nofile")`, "txt", `"kept"`},
		{"what came before is assigned", "n := 7; b := 1", "b = 2; c := 3\n" + `n := strconv.Atoi("x")`, "n, b, c", "7, 2, 3"},
		{"what comes after is not", "d := 5", `n := strconv.Atoi("x")` + "\nd := `text`", "d", "5"},
		{"a panic", `n := "seven"; var m map[string]int; f := func() int { m["a"] = 1; return 2 }`, "n := f()", "n", `"seven"`},
		{"a name that was new", "", `n := strconv.Atoi("x")`, "n", "In[3]:1:1: undefined: n"},
		{"a call that was interrupted", "h := 1; f := func() (int, error) { return 2, fmt.Errorf(`stopped: %w`, context.Canceled) }", "h := f()", "h", "2"},
		{"a call that was interrupted and has nothing", "h := 1; f := func() (int, error) { return 0, context.Canceled }", "h := f()", "h", "1"},
		{"an error that is taken", "n := 7", "n, err := strconv.Atoi(`x`); if err != nil { panic(err) }", "n", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, out := newSession(t, Options{})
			if r := s.Run(t.Context(), c.before); r.Err != nil {
				t.Fatal(r.Err)
			}
			var refused *CheckError
			if r := s.Run(t.Context(), c.cell); r.Err == nil || errors.As(r.Err, &refused) {
				t.Fatalf("%s: got %v, want an error that it returns", c.cell, r.Err)
			}
			if got, _, _ := strings.Cut(transcript(s, out, c.ask), "\n"); got != c.want {
				t.Errorf("%s is %s, want %s", c.ask, got, c.want)
			}
		})
	}
}

// A completed assignment complains about what the person wrote.
func TestCompletedAssignmentsComplain(t *testing.T) {
	s, out := newSession(t, Options{})
	run(t, s, `s := "text"`)
	const want = "In[2]:1:5: cannot use strconv.Atoi(\"1\") (value of type int) as string value in assignment; write s := strconv.Atoi(\"1\")"
	if got, _, _ := strings.Cut(transcript(s, out, `s = strconv.Atoi("1")`), "\n"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
