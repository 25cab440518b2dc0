package train

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A number is a float64 in a checkpoint or in a History's JSON. JSON has no infinities and no NaN: they are
// the strings "+Inf", "-Inf" and "NaN". Every other number has the digits that give it back bit for bit.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if finite(float64(n)) {
		return json.Marshal(float64(n))
	}
	return strconv.AppendQuote(nil, strconv.FormatFloat(float64(n), 'g', -1, 64)), nil
}

func (n *number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"+Inf"`:
		*n = number(math.Inf(1))
	case `"-Inf"`:
		*n = number(math.Inf(-1))
	case `"NaN"`:
		*n = number(math.NaN())
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

// numbers are the values of a curve.
type numbers []float64

func (list numbers) MarshalJSON() ([]byte, error) {
	values := make([]number, len(list))
	for i, x := range list {
		values[i] = number(x)
	}
	return json.Marshal(values)
}

func (list *numbers) UnmarshalJSON(b []byte) error {
	var values []number
	if err := json.Unmarshal(b, &values); err != nil {
		return err
	}
	*list = make(numbers, len(values))
	for i, x := range values {
		(*list)[i] = float64(x)
	}
	return nil
}

// historyJSON is a History in JSON.
type historyJSON struct {
	Total       int
	Loss        numbers
	LR          numbers
	GradNorm    numbers
	Eval        []pointJSON
	Tokens      int
	Places      int
	Examples    int
	Elapsed     time.Duration
	Interrupted bool
	Notes       []string
	Stopped     string      `json:",omitempty"`
	Weights     int         `json:",omitempty"`
	Spikes      []spikeJSON `json:",omitempty"`
}

type spikeJSON struct {
	Step        int
	Loss, Limit number
	Did         string
}

type pointJSON struct {
	Step    int
	Loss    number
	Metrics map[string]number `json:",omitempty"`
	Tokens  bool              `json:",omitempty"`
}

// MarshalJSON writes all of the history. Infinities and NaN are the strings "+Inf", "-Inf" and "NaN".
func (h *History) MarshalJSON() ([]byte, error) {
	j := historyJSON{
		h.Total, h.Loss, h.LR, h.GradNorm, make([]pointJSON, len(h.Eval)), h.Tokens, h.Places, h.Examples, h.Elapsed, h.Interrupted, h.Notes, h.Stopped, h.Weights, nil,
	}
	for _, s := range h.Spikes {
		j.Spikes = append(j.Spikes, spikeJSON{s.Step, number(s.Loss), number(s.Limit), s.Did})
	}
	for i, p := range h.Eval {
		j.Eval[i] = pointJSON{p.Step, number(p.Loss), converted[number](p.Metrics), p.Tokens}
	}
	return json.Marshal(j)
}

// converted is m with values of another type; nil stays nil.
func converted[To, From ~float64](m map[string]From) map[string]To {
	if m == nil {
		return nil
	}
	to := make(map[string]To, len(m))
	for name, x := range m {
		to[name] = To(x)
	}
	return to
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *History) UnmarshalJSON(b []byte) error {
	var j historyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if n := len(j.Loss); len(j.LR) != n || len(j.GradNorm) != n {
		return fmt.Errorf("history: got %d losses, %d rates and %d norms, want one of each for a step", n, len(j.LR), len(j.GradNorm))
	}
	*h = History{Total: j.Total, Loss: j.Loss, LR: j.LR, GradNorm: j.GradNorm, Tokens: j.Tokens, Places: j.Places, Examples: j.Examples, Elapsed: j.Elapsed, Interrupted: j.Interrupted, Notes: j.Notes, Stopped: j.Stopped, Weights: j.Weights}
	for _, s := range j.Spikes {
		h.Spikes = append(h.Spikes, Spike{s.Step, float64(s.Loss), float64(s.Limit), s.Did})
	}
	for _, p := range j.Eval {
		h.Eval = append(h.Eval, Point{p.Step, float64(p.Loss), converted[float64](p.Metrics), p.Tokens})
	}
	return nil
}

// difference says what the differences are between the signature of a checkpoint and that of the run, in
// words: "the learning rate's Peak was 0.003, and is 1 now". It is empty if there are none. A longer run may
// have another schedule of the same shape and height. Data that differ are shown as they describe themselves,
// if that differs, too.
func difference(saved, now string, longer bool, dataWas, dataIs string) (string, error) {
	was, err := decodeSignature(saved)
	if err != nil {
		return "", err
	}
	is, err := decodeSignature(now)
	if err != nil {
		return "", err
	}
	for _, values := range []map[string]any{was, is} {
		if rate, ok := values["learning rate"].(map[string]any); ok && longer {
			for _, key := range []string{"Warmup", "Hold", "Total"} {
				delete(rate, key)
			}
		}
	}
	if was["data"] != is["data"] && dataWas != dataIs && dataWas != "" && dataIs != "" {
		was["data"], is["data"] = dataWas, dataIs
	}
	var list []string
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if d := differ("the "+what, was[what], is[what]); d != "" {
			list = append(list, d)
		}
	}
	return strings.Join(list, "; "), nil
}

// decodeSignature keeps numbers as they are written: a seed has more digits than a float64.
func decodeSignature(text string) (values map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return values, d.Decode(&values)
}

func differ(what string, was, is any) string {
	switch is := is.(type) {
	case map[string]any:
		if was, ok := was.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(is)) {
				if d := differ(what+"'s "+key, was[key], is[key]); d != "" {
					return d
				}
			}
			return ""
		}
	case []any:
		if was, ok := was.([]any); ok {
			return differLists(what, was, is)
		}
	}
	if was == is {
		return ""
	}
	return fmt.Sprintf("%s was %s, and is %s now", what, show(was), show(is))
}

func differLists(what string, was, is []any) string {
	if len(was) != len(is) {
		text := fmt.Sprintf("%s were %d, and are %d now", what, len(was), len(is))
		if i := slices.IndexFunc(was, func(v any) bool { return !slices.Contains(is, v) }); i >= 0 {
			return text + ", without " + show(was[i])
		}
		if i := slices.IndexFunc(is, func(v any) bool { return !slices.Contains(was, v) }); i >= 0 {
			return text + ", with " + show(is[i])
		}
		return text
	}
	for i := range was {
		if d := differ(fmt.Sprintf("entry %d of %s", i+1, what), was[i], is[i]); d != "" {
			return d
		}
	}
	return ""
}

// show is a value of a signature, for people.
func show(v any) string {
	const limit = 160
	if v == nil {
		return "nothing"
	}
	text := []rune(fmt.Sprint(v))
	if len(text) > limit {
		text = append(text[:limit], '…')
	}
	return string(text)
}
