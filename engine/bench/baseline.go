package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
)

// maxBaseline is more bytes than the samples of many cases take.
const maxBaseline = 256 << 20

// baselineFile is where the baseline of that name lies: in the user's cache folder, or where the name says if
// it is a path or ends in .json.
func baselineFile(name string) (string, error) {
	switch {
	case name == "" || name == "." || name == "..":
		return "", fmt.Errorf("bench: got the name %q for a baseline, want one of letters", name)
	case strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json"):
		return name, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "mcs", "baselines", name+".json"), err
}

// Save keeps the comparison with all samples as a baseline: under a name, in the user's cache folder
// (mcs/baselines), or in a file, if the name is a path or ends in .json. One of that name is replaced.
func (c *Comparison) Save(name string) error {
	path, err := baselineFile(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	text, err := c.JSON()
	if err != nil {
		return err
	}
	return durable.WriteFile(path, durable.Text(string(text)+"\n"))
}

// Load reads what [Comparison.Save] kept. Without one of that name the error is fs.ErrNotExist.
func Load(name string) (*Comparison, error) {
	path, err := baselineFile(name)
	if err != nil {
		return nil, err
	}
	text, err := regular.Read(path, maxBaseline)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("bench: there is no baseline %q: %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	c := new(Comparison)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("bench: %s is no saved comparison: %w", path, err)
	}
	if len(c.Lines) == 0 {
		return nil, fmt.Errorf("bench: %s is no saved comparison: it has no lines", path)
	}
	for _, l := range c.Lines {
		if l.Result == nil {
			return nil, fmt.Errorf("bench: %s is no saved comparison: %q has no result", path, l.Name)
		}
		if why := l.Result.damaged(); why != "" {
			return nil, fmt.Errorf("bench: %s is no saved comparison: %q %s", path, l.Name, why)
		}
	}
	return c, nil
}

// damaged says why figures cannot be those of a measurement; nothing if they can.
func (r *Result) damaged() string {
	ordered := slices.IsSorted([]float64{0, r.Low, r.Median, r.High}) && slices.IsSorted([]float64{0, r.Min, r.Median})
	switch {
	case r.Refused != "":
		return ""
	case r.Samples < 1 || r.Samples != len(r.Times):
		return fmt.Sprintf("has %s of %d", units.Plural(int64(len(r.Times)), "time"), r.Samples)
	case slices.Min(r.Times) < 0 || !near(slices.Min(r.Times), r.Min) || !near(median(r.Times), r.Median):
		return "has another median or minimum than its times"
	case !ordered:
		return "has a median that is not in its interval"
	}
	return ""
}

// near says whether two figures are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) }

// Against compares each case with the one of the same name in a baseline, which was measured at another time:
// so the intervals of both medians count in full, and a difference has to be larger than the tolerance to be
// claimed (0: 0.03). The notes say in what the machine is another one.
func (c *Comparison) Against(name string, baseline *Comparison, tolerance float64) *Comparison {
	if tolerance <= 0 {
		tolerance = Options{}.withDefaults().Tolerance
	}
	then := map[string]*Result{}
	for _, l := range baseline.Lines {
		then[l.Name] = l.Result
	}
	out := &Comparison{Baseline: name, Same: c.Same, Notes: append([]string{}, c.Notes...)}
	for _, l := range c.Lines {
		l.Ratio, l.Low, l.High, l.Verdict, l.More, l.Differs, l.Apart = 0, 0, 0, "unknown", 0, nil, -1
		switch old := then[l.Name]; {
		case old == nil:
			l.Differs = []string{"is not in " + name}
		case l.Result.Refused != "" || old.Refused != "":
			l.Verdict = "refused"
			if old.Refused != "" {
				l.Differs = []string{"had no time in " + name + ": " + old.Refused}
			}
		default:
			ratio := apartInTime(l.Result, old)
			l.Verdict = ratio.verdict(tolerance)
			if ratio.Low <= 1+tolerance && ratio.High >= 1/(1+tolerance) && l.Verdict != "same" {
				l.Verdict = "unknown"
			}
			ratio = ratio.finite()
			l.Ratio, l.Low, l.High = ratio.Ratio, ratio.Low, ratio.High
			d := differences(name, old.Tally, l.Result.Tally, true)
			l.Differs = d.texts
		}
		out.Lines = append(out.Lines, l)
	}
	if len(out.Lines) > 0 {
		for _, reason := range baseline.Lines[0].Result.Machine.Noise() {
			out.Notes = append(out.Notes, "the machine of "+name+" was not quiet: "+reason)
		}
		for _, d := range out.Lines[0].Result.Machine.differs(baseline.Lines[0].Result.Machine) {
			out.Notes = append(out.Notes, "another machine: "+d)
		}
	}
	return out
}

// apartInTime is the ratio of two results that were not measured side by side.
func apartInTime(now, then *Result) Ratio {
	if now.Samples < minKnown || then.Samples < minKnown || then.Low <= 0 || now.Low <= 0 {
		return Ratio{now.Median / max(then.Median, math.SmallestNonzeroFloat64), 0, math.Inf(1)}
	}
	return Ratio{now.Median / then.Median, now.Low / then.High, now.High / then.Low}
}
