package terminal

import "testing"

// A cell that reads standard input to the end, and is interrupted or leaves a goroutine behind that does,
// gives the keyboard back: all that is typed then is cells.
func TestReadersLeftBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cell      string
		interrupt bool
	}{
		{"io.ReadAll(os.Stdin)", true},
		{"io.Copy(io.Discard, os.Stdin)", true},
		{"json.NewDecoder(os.Stdin).Decode(new(any))", true},
		{"bufio.NewScanner(os.Stdin).Scan()", true},
		{"var word string; fmt.Scan(&word)", true},
		{"for { os.Stdin.Read(make([]byte, 1)) }", true},
		{"in := os.Stdin; in.Read(make([]byte, 1))", true},
		{"go io.ReadAll(os.Stdin); time.Sleep(20 * time.Millisecond)", false},
		{"go func() { for s := bufio.NewScanner(os.Stdin); s.Scan(); {} }()", false},
		{"go func() { time.Sleep(50 * time.Millisecond); fmt.Scanln(new(string)) }()", false},
	} {
		t.Run(c.cell, func(t *testing.T) {
			t.Parallel()
			p := newHome(t).open(nil)
			ready(p)
			p.Send(`fmt.Println("be" + "gun"); ` + c.cell + ";\r")
			p.See("\nbegun")
			if c.interrupt {
				p.Send(ctrlC)
				p.See("In [2]:")
			}
			for _, line := range []string{"one", "two", "three"} {
				run(p, `"lin" + "e `+line+`"`, "\"line "+line+"\"")
			}
			leave(t, p)
		})
	}
}

// A cell reads the lines that are typed while it runs, up to Ctrl-D; what follows is cells.
func TestCellsReadLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, cell, typed, want string }{
		{"all", `t, _ := io.ReadAll(os.Stdin); fmt.Printf("%q", t)`, "ab\rc\r\x04", `"ab\nc\n"`},
		{"lines", `for s := bufio.NewScanner(os.Stdin); s.Scan(); { fmt.Printf("%q,", s.Text()) }`, "a\rb\rc\rd\r\x04", `"a","b","c","d",`},
		{"a line", `s := bufio.NewScanner(os.Stdin); s.Scan(); fmt.Printf("%q", s.Text())`, "a\r", `"a"`},
		{"words", `var a, b int; fmt.Scan(&a, &b); fmt.Printf("<%d>", a+b)`, "40\r2\r", "<42>"},
		{"both", `var a int; fmt.Scan(&a); s := bufio.NewScanner(os.Stdin); s.Scan(); fmt.Printf("<%d%s>", a, s.Text())`, "1\rtwo\r", "<1two>"},
		{"a command", `c := exec.Command("head", "-n1"); c.Stdin = os.Stdin; t, _ := c.Output(); fmt.Printf("%q", t)`, "ab\r", `"ab\n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newHome(t).open(nil)
			ready(p)
			p.Send("func() { fmt.Println(\"be\" + \"gun\"); " + c.cell + " }()\r")
			p.See("\nbegun")
			p.Send(c.typed)
			p.See(c.want)
			p.Send("20 + 22\r")
			p.See("]: 42")
			leave(t, p)
		})
	}
}
