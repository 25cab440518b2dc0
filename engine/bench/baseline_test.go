package bench_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/testing/benchtest"
)

func timesOf(t *testing.T, cpu string, a, b time.Duration) *bench.Comparison {
	m := benchtest.New(uint64(a))
	m.Self.CPU = cpu
	return compare(t, m, bench.Options{}, bench.Work{Name: "a", Run: m.Work(a, 0.01)}, bench.Work{Name: "b", Run: m.Work(b, 0.01)})
}

func TestBaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "base.json")
	if err := timesOf(t, "Abacus", 2*time.Millisecond, 4*time.Millisecond).Save(file); err != nil {
		t.Fatal(err)
	}
	base, err := bench.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		cpu      string
		a, b     time.Duration
		verdicts string
		text     []string
	}{
		{"nothing changed", "Abacus", 2 * time.Millisecond, 4 * time.Millisecond, "same same", []string{"vs base", "~ no difference larger than "}},
		{"b became faster", "Abacus", 2 * time.Millisecond, 3 * time.Millisecond, "same faster", []string{"1.33× faster ["}},
		{"a became slower, by little", "Abacus", 2050 * time.Microsecond, 4 * time.Millisecond, "unknown same", []string{"not known ["}},
		{"another machine", "Slide rule", 3 * time.Millisecond, 4 * time.Millisecond, "slower same", []string{"another machine: processor: Slide rule, then Abacus"}},
	} {
		c := timesOf(t, tt.cpu, tt.a, tt.b).Against("base", base, 0)
		if got := c.Lines[0].Verdict + " " + c.Lines[1].Verdict; got != tt.verdicts {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.verdicts)
		}
		for _, want := range tt.text {
			if !strings.Contains(c.String(), want) {
				t.Errorf("%s: got\n%s\nwant %q in it", tt.name, c, want)
			}
		}
	}
	base.Lines[0].Result.Machine.Others = 1.5
	if c := timesOf(t, "Abacus", 2*time.Millisecond, 4*time.Millisecond).Against("base", base, 0); !strings.Contains(c.String(), "the machine of base was not quiet: other processes keep 1.5 of") {
		t.Errorf("a baseline of a busy machine: got\n%s", c)
	}
	m := benchtest.New(1)
	other := compare(t, m, bench.Options{}, bench.Work{Name: "new", Run: m.Work(time.Millisecond, 0)})
	if c := other.Against("base", base, 0); c.Lines[0].Verdict != "unknown" || !strings.Contains(c.String(), "new: is not in base") {
		t.Errorf("a case that the baseline lacks: got\n%s", c)
	}
}

// Names lie in the cache folder; paths are files.
func TestBaselineNames(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LocalAppData", t.TempDir())
	if _, err := bench.Load("base"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `there is no baseline "base"`) {
		t.Errorf("before it was saved: got %v", err)
	}
	if err := measured(t).Save("base"); err != nil {
		t.Fatal(err)
	}
	if c, err := bench.Load("base"); err != nil || len(c.Lines) != 2 {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := measured(t).Save(""); err == nil {
		t.Error("without a name: got no error")
	}
	dir := t.TempDir()
	const result = `{"Lines": [{"Name": "a", "Result": {"Median": 2, "Low": 1, "High": 3, "Min": 1, "Samples": 3, "Times": [1, 2, 3]}}]}`
	damaged := []string{"", "{}", `{"Lines": [{"Name": "a"}]}`, `{"Lines": [{"Name": "a", "Result": {}}]}`}
	for _, each := range [][2]string{{`"Median": 2`, `"Median": 2.5`}, {`"Low": 1`, `"Low": 2.5`}, {`"High": 3`, `"High": 1`}, {`"Low": 1`, `"Low": -1`},
		{`"Min": 1`, `"Min": 0.5`}, {`[1, 2, 3]`, `[1, 2]`}, {`"Samples": 3`, `"Samples": 4`}, {`[1, 2, 3]`, `[-1, 2, 3]`}} {
		damaged = append(damaged, strings.Replace(result, each[0], each[1], 1))
	}
	whole := filepath.Join(dir, "whole.json")
	if err := os.WriteFile(whole, []byte(result), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Load(whole); err != nil {
		t.Error(err)
	}
	for _, text := range damaged {
		file := filepath.Join(dir, "damaged.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := bench.Load(file); err == nil || !strings.Contains(err.Error(), "is no saved comparison") {
			t.Errorf("%q: got %v, %v", text, c, err)
		}
	}
}
