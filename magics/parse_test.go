package magics

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/session"
)

func TestParseFlags(t *testing.T) {
	m := &Magic{Name: "m", Flags: []Flag{
		{Name: "f"},
		{Name: "n", Kind: Integer, Default: "7"},
		{Name: "t", Kind: Duration, Default: "2s"},
		{Name: "fuse", Kind: Choice, Choices: []string{"on", "off"}},
	}}
	for _, tt := range []struct {
		args, rest string
		f          bool
		n          int
		t          time.Duration
		fuse, err  string
	}{
		{"", "", false, 7, 2 * time.Second, "", ""},
		{"x - 1", "x - 1", false, 7, 2 * time.Second, "", ""},
		{"-f x", "x", true, 7, 2 * time.Second, "", ""},
		{"-f=false -n 3 -t=500ms f(x, -n)", "f(x, -n)", false, 3, 500 * time.Millisecond, "", ""},
		{"-fuse=off x", "x", false, 7, 2 * time.Second, "off", ""},
		{"-f -- -x", "-x", true, 7, 2 * time.Second, "", ""},
		{"-1 + x", "-1 + x", false, 7, 2 * time.Second, "", ""},
		{"-f\nx := 1\ny", "\nx := 1\ny", true, 7, 2 * time.Second, "", ""},
		{"-n x", "", false, 0, 0, "", `%m: -n: got "x", want a whole number`},
		{"-t 2", "", false, 0, 0, "", `%m: -t: got "2", want a time such as 500ms or 2s`},
		{"-fuse=maybe", "", false, 0, 0, "", `%m: -fuse: got "maybe", want on or off`},
		{"-x", "", false, 0, 0, "", "%m: no flag -x; it has -f, -n, -t, -fuse (put -- before a statement that begins with a minus)"},
	} {
		flags, rest, err := m.parse(tt.args)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("parse(%q): got error %v, want %q", tt.args, err, tt.err)
			}
			continue
		}
		want := map[string]any{"f": tt.f, "n": tt.n, "t": tt.t, "fuse": tt.fuse}
		if err != nil || rest != tt.rest || !reflect.DeepEqual(flags, want) {
			t.Errorf("parse(%q) = %v, %q, %v, want %v, %q", tt.args, flags, rest, err, want, tt.rest)
		}
	}
}

// The value of a text flag is a word, or anything in quotes.
func TestParseText(t *testing.T) {
	m := &Magic{Name: "m", Flags: []Flag{{Name: "o", Kind: Text, Arg: "FILE"}}}
	for _, tt := range []struct{ args, text, rest, err string }{
		{"x", "", "x", ""},
		{"-o a.svg x", "a.svg", "x", ""},
		{"-o=a.svg x", "a.svg", "x", ""},
		{"-o 'launches <= 3' x", "launches <= 3", "x", ""},
		{"-o=\"it's\" x", "it's", "x", ""},
		{"-o `a\"b`\nx", `a"b`, "\nx", ""},
		{"-o 'a x", "", "", "%m: -o: got 'a x, want a closing '"},
	} {
		flags, rest, err := m.parse(tt.args)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("parse(%q): got error %v, want %q", tt.args, err, tt.err)
			}
		} else if err != nil || rest != tt.rest || flags["o"] != tt.text {
			t.Errorf("parse(%q) = %v, %q, %v, want %q, %q", tt.args, flags, rest, err, tt.text, tt.rest)
		}
	}
}

func TestParseRanges(t *testing.T) {
	in, err := parseRanges([]string{"2-4", "7"})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for n := range 10 {
		if in(n) {
			got = append(got, n)
		}
	}
	if want := "[2 3 4 7]"; fmt.Sprint(got) != want {
		t.Errorf("2-4 7: got %v, want %v", got, want)
	}
	for _, bad := range []string{"x", "0", "4-2", "1-", "-"} {
		if _, err := parseRanges([]string{bad}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: got error %v, want one that quotes it", bad, err)
		}
	}
}

func TestUnknownMagic(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"whose", "%whose: no such command; did you mean %whos?"},
		{"histroy", "%histroy: no such command; did you mean %history?"},
		{"frobnicate", "%frobnicate: no such command; %help lists them"},
	} {
		if got := (Table{}).unknown(tt.name, "").Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// Commands of IPython are answered with what to write here. What follows "write " runs when it is pasted.
func TestForeignCommands(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ line, want string }{
		{"!cd ..", `%cd ..`},
		{"%pwd", "os.Getwd()"},
		{"%set_env A=b", "%env A=b"},
		{"%who", "%whos"},
		{"%hist", "%history"},
		{"%rerun 1", "%edit 1"},
		{"%pinfo x", "x?"},
		{"%xdel x", "%del x"},
		{"%prun x", "%profile x"},
		{"%lsmagic", "%help"},
		{"% time x", "%time x"},
		{"%memit x", "%mem"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Chdir(dir)
			s, err := session.New(session.Options{Commands: Table{}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.Run(t.Context(), "x := 1")
			r := s.Run(t.Context(), tt.line)
			if r.Err == nil || !strings.HasSuffix(r.Err.Error(), "; write "+tt.want) {
				t.Fatalf("got %v, want write %s", r.Err, tt.want)
			}
			if r := s.Run(t.Context(), tt.want); r.Err != nil {
				t.Errorf("pasted: %v", r.Err)
			}
		})
	}
}
