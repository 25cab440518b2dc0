package session

import (
	"runtime"
	"testing"
)

// Child processes work as in compiled Go: their output, their standard error, and the errors of package
// os/exec.
func TestChildProcesses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands and the errors are those of Unix")
	}
	for _, c := range []struct{ name, cell, want string }{
		{"Run", `c := exec.Command("sh", "-c", "echo out"); var b bytes.Buffer; c.Stdout = &b; err := c.Run(); got := fmt.Sprint(b.String(), err)`, `"out|<nil>"`},
		{"Run of a missing program", `err := exec.Command("/no/such/program").Run(); got := fmt.Sprint(err)`, `"fork/exec /no/such/program: no such file or directory"`},
		{"Output", `b, err := exec.Command("sh", "-c", "echo out; echo err >&2").Output(); got := fmt.Sprintf("%s %v", b, err)`, `"out| <nil>"`},
		{"the error of Output", `b, err := exec.Command("sh", "-c", "echo out; echo err >&2; exit 3").Output(); got := fmt.Sprintf("%s %v %s", b, err, err.(*exec.ExitError).Stderr)`, `"out| exit status 3 err|"`},
		{"much on the standard error", `_, err := exec.Command("sh", "-c", "head -c 70000 /dev/zero >&2; exit 1").Output(); e := err.(*exec.ExitError).Stderr; got := fmt.Sprint(len(e), string(e[32768:32768+29]))`,
			`"65565|... omitting 4464 bytes ...|"`},
		{"Output of a command that has one", `c := exec.Command("true"); c.Stdout = os.Stdout; _, err := c.Output(); got := fmt.Sprint(err)`, `"exec: Stdout already set"`},
		{"CombinedOutput", `b, err := exec.Command("sh", "-c", "echo out; echo err >&2; exit 2").CombinedOutput(); got := fmt.Sprintf("%s%v", b, err)`, `"out|err|exit status 2"`},
		{"CombinedOutput of a command that has one", `c := exec.Command("true"); c.Stderr = os.Stderr; _, err := c.CombinedOutput(); got := fmt.Sprint(err)`, `"exec: Stderr already set"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			run(t, s, c.cell)
			if got := run(t, s, `strings.ReplaceAll(got, "\n", "|")`); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
