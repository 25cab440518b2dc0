package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// evalOptions are the flags of `mcs eval`.
type evalOptions struct {
	modelFlags
	window, stride int
	json           bool
	tasks          string
}

// usualWindow is the window where the model's context is longer, or not known.
const usualWindow = 2048

func evalCommand() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval MODEL [FILE…] [--tasks FILE]",
		Short: "Measure how well a model predicts texts, and what it answers",
		Long: `eval reads each text in windows that overlap, counts each token once, in the first window that has it, and prints a line for
each file: the loss, which is the mean cross-entropy of a token in nats; the perplexity, e to the loss; and the bits that a
byte of the text takes, by which models with different tokenizers compare. The first token of the text is not predicted.

Without overlap (--stride as --window) the first token of each window is not either, and those after it are predicted from little.

With --tasks it asks the rows of a file, lines of JSON, and prints a line for each task, with standard errors. A row has the name of its task and
  prompt, choices, answer      which of the choices is likeliest to follow, as a whole (acc), by the character (acc_norm): the answer is its number from 0
  prompt, completion           whether the completion is what the model would say (acc), and how likely it is (perplexity)
  prompt, answer               whether what the model writes, up to stop (a line's end) or tokens (32), is the answer (exact_match)
  text                         how well all of it is predicted, by the word and the byte
Numbers are those of lm-evaluation-harness for the same rows; the error of a perplexity is a first-order one. An example is examples/tasks.jsonl.

` + aboutModels,
		Example: "  mcs eval Qwen2.5-0.5B-Instruct story.txt notes.txt\n  mcs eval Qwen2.5-0.5B-Instruct story.txt --adapter tuned/adapter --window 64 --stride 16 --json\n  mcs eval Qwen2.5-0.5B-Instruct --tasks tasks.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) < 2 && o.tasks == "" {
				return errors.New("eval: got no file, takes a model and one text or more, or --tasks")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1:]) },
	}
	o.add(cmd)
	cmd.Flags().IntVar(&o.window, "window", 0, fmt.Sprintf("read `N` tokens at once; 0: the model's context, at most %d", usualWindow))
	cmd.Flags().IntVar(&o.stride, "stride", 0, "begin the next window `N` tokens later; 0: half a window")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object for each file and task")
	cmd.Flags().StringVar(&o.tasks, "tasks", "", "ask the tasks of `FILE`, lines of JSON")
	return cmd
}

func (o *evalOptions) run(cmd *cobra.Command, name string, files []string) error {
	if o.window < 0 || o.window == 1 || o.stride < 0 || o.window > 0 && o.stride > o.window {
		return fmt.Errorf("eval: got --window %d and --stride %d, want a window of 2 tokens or more and a stride up to that", o.window, o.stride)
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	texts := make([]string, len(files))
	for i, file := range files {
		var err error
		if texts[i], err = data.ReadText(file); err != nil {
			return fmt.Errorf("eval: %w", err)
		}
	}
	var tasks []*task
	if o.tasks != "" {
		var err error
		if tasks, err = readTasks(o.tasks); err != nil {
			return fmt.Errorf("eval: %w", err)
		}
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	m, err := o.load(ctx, name)
	if err == nil {
		err = o.fit(m)
	}
	if err != nil {
		return gaveUp(ctx, err, exitUsage)
	}
	for i, file := range files {
		e, err := o.measure(ctx, m, texts[i])
		if err != nil {
			return gaveUp(ctx, fmt.Errorf("eval: %s: %w", file, err), exitFailed)
		}
		e.File = file
		e.print(o.json)
	}
	shown, bar := progressing(ctx)
	defer bar.Finish()
	for _, t := range tasks {
		metrics, err := t.kind.measure(&evaluator{shown, m, o.window}, t.rows)
		bar.Finish()
		if err != nil {
			return gaveUp(ctx, fmt.Errorf("eval: %s: task %s: %w", o.tasks, t.name, err), exitFailed)
		}
		(&taskResult{t.name, len(t.rows), metrics}).print(o.json)
	}
	return nil
}

// fit chooses a window and a stride that are not given.
func (o *evalOptions) fit(m *llm.Model) error {
	if m.Tokenizer == nil && m.Config.Vocab != 256 {
		return fmt.Errorf("eval: got a vocabulary of %d and no tokenizer, want 256 (bytes)", m.Config.Vocab)
	}
	context := cmp.Or(m.Config.Context, usualWindow)
	if o.window > context && m.Config.Context > 0 {
		return fmt.Errorf("eval: got --window %d, want at most the model's context of %d tokens", o.window, context)
	}
	o.window = cmp.Or(o.window, min(context, usualWindow))
	if o.stride > o.window {
		return fmt.Errorf("eval: got --stride %d, want at most the window of %d tokens", o.stride, o.window)
	}
	o.stride = cmp.Or(o.stride, max(1, o.window/2))
	return nil
}

// An evaluation is what `mcs eval` says of a file.
type evaluation struct {
	File       string  `json:"file"`
	Loss       float64 `json:"loss"` // nats a token
	Perplexity float64 `json:"perplexity"`
	BitsByte   float64 `json:"bits_per_byte"`
	Tokens     int     `json:"tokens"` // that count
	Bytes      int     `json:"bytes"`
	Window     int     `json:"window"`
	Stride     int     `json:"stride"`
}

// measure predicts a text. The bits are those of all its tokens, at the mean of those that count.
func (o *evalOptions) measure(ctx context.Context, m *llm.Model, text string) (*evaluation, error) {
	ctx, bar := progressing(ctx)
	defer bar.Finish()
	w := &windows{ctx: ctx, window: o.window, stride: o.stride}
	inText := len(text)
	if t := m.Tokenizer; t != nil {
		w.ids, inText = t.Encode(text, true), len(t.Encode(text, false))
	} else {
		for i := range len(text) {
			w.ids = append(w.ids, int(text[i]))
		}
	}
	if len(w.ids) < 2 {
		return nil, fmt.Errorf("got a text of %s, want at least 2", units.Plural(int64(len(w.ids)), "token"))
	}
	loss, err := train.Evaluate(ctx, m, w, 0)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return nil, fmt.Errorf("the loss is %v", loss)
	}
	return &evaluation{
		Loss: loss, Perplexity: math.Exp(loss), BitsByte: loss * float64(inText) / float64(len(text)) / math.Ln2,
		Tokens: w.counted(), Bytes: len(text), Window: o.window, Stride: o.stride,
	}, nil
}

func (e *evaluation) print(asJSON bool) {
	if !asJSON {
		fmt.Printf("%s: loss %.4f · perplexity %.4g · %.4f bits a byte · %s tokens, %s bytes · window %d, stride %d\n", visible.Line(e.File),
			e.Loss, e.Perplexity, e.BitsByte, units.Int(int64(e.Tokens)), units.Int(int64(e.Bytes)), e.Window, e.Stride)
		return
	}
	json.NewEncoder(os.Stdout).Encode(e)
}

// windows are those of a text, a window a batch. A token counts in the first window that has it and a token
// before it.
type windows struct {
	ctx            context.Context // which hears how far the work is
	ids            []int
	window, stride int
}

func (w *windows) Fingerprint() string { return "" }

// Epoch is the number of windows. The last one may be shorter, but has two tokens at least.
func (w *windows) Epoch() int {
	n := 1 + (max(0, len(w.ids)-w.window)+w.stride-1)/w.stride
	if len(w.ids)-(n-1)*w.stride < 2 {
		n--
	}
	return n
}

// span is where window n begins and ends, and the first token that counts in it.
func (w *windows) span(n int) (begin, end, first int) {
	begin = n * w.stride
	end, first = min(begin+w.window, len(w.ids)), begin+1
	if n > 0 {
		first = max(first, begin-w.stride+w.window)
	}
	return begin, end, first
}

func (w *windows) Batch(n int) (data.Batch, error) {
	all := int64(w.Epoch())
	progress.Report(w.ctx, progress.Event{Task: "windows", Done: int64(n + 1), Total: all, Final: int64(n+1) == all})
	begin, end, first := w.span(n)
	targets := make([]int, end-begin-1)
	for i := range targets {
		if targets[i] = data.Ignored; begin+1+i >= first {
			targets[i] = w.ids[begin+1+i]
		}
	}
	return data.Batch{Inputs: tensor.From(w.ids[begin : end-1]).Unsqueeze(0), Targets: tensor.From(targets).Unsqueeze(0)}, nil
}

// counted is how many tokens count.
func (w *windows) counted() (all int) {
	for n := range w.Epoch() {
		_, end, first := w.span(n)
		all += end - first
	}
	return all
}
