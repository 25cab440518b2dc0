package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A taskRow is a line of a file of tasks. What is asked is known by its fields.
type taskRow struct {
	Task       string          `json:"task"`
	Prompt     string          `json:"prompt"`
	Choices    []string        `json:"choices"`    // which follows prompt and a blank? Answer is its number, from 0
	Answer     json.RawMessage `json:"answer"`     // of the choices, or the text that is generated
	Completion string          `json:"completion"` // follows prompt and a blank
	Text       string          `json:"text"`       // of which all tokens are predicted
	Stop       []string        `json:"stop"`       // before which a generated text ends; none: a line's end
	Tokens     int             `json:"tokens"`     // of a generated text, at most; 0: 32

	right int    // of the choices
	said  string // the answer that is a text
}

// A task is the rows of one name, all of one kind.
type task struct {
	name string
	kind *taskKind
	rows []taskRow
}

// A taskKind is a way to ask and to judge, as lm-evaluation-harness has it.
type taskKind struct {
	name    string // the field by which a row has it
	check   func(r *taskRow) error
	measure func(e *evaluator, rows []taskRow) ([]taskMetric, error)
}

var taskKinds = []*taskKind{
	{"choices", checkChoices, (*evaluator).choices},
	{"completion", checkCompletion, (*evaluator).completions},
	{"answer", checkAnswer, (*evaluator).answers},
	{"text", func(*taskRow) error { return nil }, (*evaluator).texts},
}

func checkChoices(r *taskRow) error {
	if err := json.Unmarshal(r.Answer, &r.right); err != nil || r.right < 0 || r.right >= len(r.Choices) {
		return fmt.Errorf("got answer %.40q of %s, want the number of one, from 0", r.Answer, units.Plural(int64(len(r.Choices)), "choice"))
	}
	if slices.Contains(r.Choices, "") {
		return errors.New("got an empty choice")
	}
	return nil
}

func checkCompletion(r *taskRow) error {
	if r.Answer != nil {
		return errors.New("got completion and answer, want one of them")
	}
	return nil
}

func checkAnswer(r *taskRow) error {
	if json.Unmarshal(r.Answer, &r.said) != nil || r.Prompt == "" || r.Tokens < 0 {
		return fmt.Errorf("got prompt %.40q, answer %.40q and %d tokens, want two texts; beside an answer that is a number, choices", r.Prompt, r.Answer, r.Tokens)
	}
	return nil
}

// kindOf is what a row asks.
func (r *taskRow) kindOf() (*taskKind, error) {
	for i, has := range []bool{r.Choices != nil, r.Completion != "", r.Answer != nil, r.Text != ""} {
		if has {
			return taskKinds[i], taskKinds[i].check(r)
		}
	}
	return nil, errors.New("want prompt with choices and the number of the right answer, with completion, or with answer, or text alone")
}

// readTasks reads a file of tasks: lines of JSON.
func readTasks(path string) (list []*task, err error) {
	text, err := regular.Text(path, 1<<30)
	if err != nil {
		return nil, err
	}
	line := 0
	for part := range strings.Lines(text) {
		if line++; strings.TrimSpace(part) == "" {
			continue
		}
		var r taskRow
		d := json.NewDecoder(strings.NewReader(part))
		d.DisallowUnknownFields()
		err := d.Decode(&r)
		var kind *taskKind
		if err == nil {
			if _, more := d.Token(); more != io.EOF {
				err = errors.New("got more than one object")
			} else {
				kind, err = r.kindOf()
			}
		}
		i := slices.IndexFunc(list, func(t *task) bool { return t.name == r.Task })
		switch {
		case err != nil:
		case r.Task == "":
			err = errors.New("want a name in task")
		case i < 0:
			list = append(list, &task{r.Task, kind, []taskRow{r}})
		case list[i].kind != kind:
			err = fmt.Errorf("got a row with %s in task %q, whose first row has %s", kind.name, r.Task, list[i].kind.name)
		default:
			list[i].rows = append(list[i].rows, r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no tasks", path)
	}
	return list, nil
}

// A taskResult is what `mcs eval` says of a task.
type taskResult struct {
	Task    string       `json:"task"`
	Rows    int          `json:"rows"`
	Metrics []taskMetric `json:"metrics"`
}

type taskMetric struct {
	Name   string   `json:"name"`
	Value  float64  `json:"value"`
	StdErr *float64 `json:"stderr"` // null where there is none
}

func (r *taskResult) print(asJSON bool) {
	if asJSON {
		json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	text := fmt.Sprintf("%s: %s", visible.Line(r.Task), units.Plural(int64(r.Rows), "row"))
	for _, m := range r.Metrics {
		text += fmt.Sprintf(" · %s %.4g", m.Name, m.Value)
		if m.StdErr != nil {
			text += fmt.Sprintf(" ± %.4g", *m.StdErr)
		}
	}
	fmt.Println(text)
}

// mean is that of the rows, with its standard error.
func mean(name string, list []float64) taskMetric {
	sum, squares, n := 0.0, 0.0, float64(len(list))
	for _, x := range list {
		sum += x
	}
	for _, x := range list {
		squares += (x - sum/n) * (x - sum/n)
	}
	m := taskMetric{Name: name, Value: sum / n}
	if n > 1 {
		e := math.Sqrt(squares / (n - 1) / n)
		m.StdErr = &e
	}
	return m
}

// An evaluator asks a model.
type evaluator struct {
	ctx    context.Context
	m      *llm.Model
	window int
}

// A continuation is what may follow a context, in tokens, and how likely it is.
type continuation struct {
	context, ids []int
	loss         float64 // nats of all of it
	best         bool    // each token is the likeliest, if asked for
}

// follow are the tokens of a prompt and of what follows it: those of both together, from where those of the
// prompt end, whose blanks belong to what follows.
func (e *evaluator) follow(prompt, text string) (*continuation, error) {
	if prompt == "" {
		return e.alone(text, false)
	}
	begin := strings.TrimRightFunc(prompt, unicode.IsSpace)
	whole, err := e.m.Encode(prompt + text)
	if err != nil {
		return nil, err
	}
	before, err := e.m.Encode(begin)
	if err != nil {
		return nil, fmt.Errorf("prompt %.40q: %w", prompt, err)
	}
	n := len(before)
	if n >= len(whole) {
		return nil, fmt.Errorf("got no tokens of %.40q after those of %.40q", text, prompt)
	}
	return &continuation{context: whole[:n:n], ids: whole[n:]}, nil
}

// alone are the tokens of a text after the one that begins or ends texts.
func (e *evaluator) alone(text string, special bool) (*continuation, error) {
	ids, first := []int(nil), -1
	if t, marks := e.m.Speaks(); t == nil {
		var err error
		if ids, err = e.m.Encode(text); err != nil {
			return nil, err
		}
	} else if ids, first = t.Encode(text, special), t.ID(marks.BOS); first < 0 {
		first = t.ID(marks.EOS)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("got no tokens of %.40q", text)
	}
	if first < 0 || !special && ids[0] == first {
		return &continuation{context: ids[:1:1], ids: ids[1:]}, nil
	}
	return &continuation{context: []int{first}, ids: ids}, nil
}

// measure says how likely continuations are, several of about one length at a time.
func (e *evaluator) measure(list []*continuation, best bool) error {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *continuation) int {
		return cmp.Compare(len(a.context)+len(a.ids), len(b.context)+len(b.ids))
	})
	done, batch := 0, 8
	if best {
		batch = 1 // the scores of all tokens are large
	}
	for part := range slices.Chunk(order, batch) {
		err := tensor.Try(func() { tensor.Within(e.ctx, func() { e.together(part, best) }) })
		if err = cmp.Or(context.Cause(e.ctx), err); err != nil {
			return err
		}
		done += len(part)
		progress.Report(e.ctx, progress.Event{Task: "continuations", Done: int64(done), Total: int64(len(list)), Final: done == len(list)})
	}
	return nil
}

func (e *evaluator) together(list []*continuation, best bool) {
	rows := make([][]int, len(list)) // of the last tokens
	longest := 0
	for i, c := range list {
		rows[i] = slices.Concat(c.context, c.ids)
		rows[i] = rows[i][max(0, len(rows[i])-e.window-1):]
		longest = max(longest, len(rows[i])-1)
	}
	width := min((longest+31)/32*32, max(longest, e.window)) // each length is planned anew
	inputs, targets := make([]int, len(list)*width), make([]int, len(list)*width)
	for i := range targets {
		targets[i] = data.Ignored
	}
	for i, c := range list {
		n := len(rows[i]) - 1
		copy(inputs[i*width:], rows[i][:n])
		from := max(0, n-len(c.ids))
		copy(targets[i*width+from:], rows[i][from+1:])
	}
	at := nn.Device(e.m)
	in, out := tensor.From(inputs, len(list), width).To(at), tensor.From(targets, len(list), width).To(at)
	if best {
		right := e.m.Logits(in).ArgMax(-1).Eq(out).Ints()
		list[0].best = true
		for i, id := range targets {
			list[0].best = list[0].best && (id == data.Ignored || right[i] != 0)
		}
	}
	for i, x := range e.m.Losses(in, out).Sum(1).Float64s() {
		list[i].loss = x
	}
}

func (e *evaluator) choices(rows []taskRow) ([]taskMetric, error) {
	var all []*continuation
	for _, r := range rows {
		for _, choice := range r.Choices {
			c, err := e.follow(r.Prompt, " "+choice)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	if err := e.measure(all, false); err != nil {
		return nil, err
	}
	acc, norm := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		best, bestNorm := 0, 0
		of := func(k int) float64 { return all[k].loss / float64(utf8.RuneCountInString(r.Choices[k])) }
		for k := range r.Choices {
			if all[k].loss < all[best].loss {
				best = k
			}
			if of(k) < of(bestNorm) {
				bestNorm = k
			}
		}
		acc[i], norm[i] = truth(best == r.right), truth(bestNorm == r.right)
		all = all[len(r.Choices):]
	}
	return []taskMetric{mean("acc", acc), mean("acc_norm", norm)}, nil
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (e *evaluator) completions(rows []taskRow) ([]taskMetric, error) {
	all := make([]*continuation, len(rows))
	for i, r := range rows {
		var err error
		if all[i], err = e.follow(r.Prompt, " "+r.Completion); err != nil {
			return nil, err
		}
	}
	if err := e.measure(all, true); err != nil {
		return nil, err
	}
	acc, losses := make([]float64, len(rows)), make([]float64, len(rows))
	for i, c := range all {
		acc[i], losses[i] = truth(c.best), c.loss
	}
	loss := mean("perplexity", losses) // of a completion
	if loss.Value = math.Exp(loss.Value); loss.StdErr != nil {
		*loss.StdErr *= loss.Value // as far as e to it is straight
	}
	return []taskMetric{mean("acc", acc), loss}, nil
}

// answers lets the model write, all rows of one stop and length side by side.
func (e *evaluator) answers(rows []taskRow) ([]taskMetric, error) {
	right := make([]float64, len(rows))
	for from, to := 0, 0; from < len(rows); from = to {
		first := rows[from]
		var prompts []string
		for to = from; to < len(rows) && rows[to].Tokens == first.Tokens && slices.Equal(rows[to].Stop, first.Stop); to++ {
			prompts = append(prompts, rows[to].Prompt)
		}
		o := llm.Sampling{Tokens: cmp.Or(first.Tokens, 32), Stop: first.Stop}
		if o.Stop == nil {
			o.Stop = []string{"\n"}
		}
		texts, err := e.m.GenerateBatch(e.ctx, prompts, o)
		if err != nil {
			return nil, err
		}
		for i, text := range texts {
			said := strings.TrimSpace(strings.TrimPrefix(text, prompts[i]))
			right[from+i] = truth(said == strings.TrimSpace(rows[from+i].said))
		}
	}
	return []taskMetric{mean("exact_match", right)}, nil
}

// texts predicts each text from its first token on, in windows of which each tells as much as it can.
func (e *evaluator) texts(rows []taskRow) ([]taskMetric, error) {
	var all []*continuation
	words, length := 0, 0
	for _, r := range rows {
		c, err := e.alone(r.Text, true)
		if err != nil {
			return nil, err
		}
		ids := slices.Concat(c.context, c.ids)
		for from := 1; from < len(ids); {
			to := min(from+e.window, len(ids))
			begin := max(0, to-e.window-1)
			all = append(all, &continuation{context: ids[begin:from:from], ids: ids[from:to]})
			from = to
		}
		words, length = words+len(blanks().Split(r.Text, -1)), length+len(r.Text)
	}
	if err := e.measure(all, false); err != nil {
		return nil, err
	}
	loss := 0.0
	for _, c := range all {
		loss += c.loss
	}
	return []taskMetric{
		{Name: "word_perplexity", Value: math.Exp(loss / float64(words))}, {Name: "byte_perplexity", Value: math.Exp(loss / float64(length))},
		{Name: "bits_per_byte", Value: loss / float64(length) / math.Ln2},
	}, nil
}

var blanks = lazy.Regexp(`\s+`)
