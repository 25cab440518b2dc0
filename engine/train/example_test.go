package train_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
)

// A decoder learns a text, byte by byte.
func Example() {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog. ", 40)
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 64, Seed: 1})
	run, err := train.Run(context.Background(), m, data.Windows(text, 16, 4), train.Options{
		Steps: 30, LR: optim.Cosine(1e-2, 5, 30), Clip: 1, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Steps(), "steps,", run.Tokens, "tokens")
	fmt.Println("it learnt:", run.Last() < run.First()-1)
	// Output:
	// 30 steps, 1920 tokens
	// it learnt: true
}

// A run that was stopped goes on when it is called again; with a checkpoint folder also in another process.
func ExampleRun_resume() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := strings.Repeat("to be or not to be. ", 40)
	options := train.Options{Steps: 4, LR: optim.Constant(1e-3), Seed: 1, Checkpoint: filepath.Join(dir, "checkpoints"), Resume: true}
	start := func(ctx context.Context) (*train.History, error) { // as a new process would
		m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 64, Seed: 1})
		return train.Run(ctx, m, data.Windows(text, 16, 2), options)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = start(stopped)
	var interrupted *train.Interrupted
	fmt.Println(errors.As(err, &interrupted))
	run, err := start(context.Background())
	fmt.Println(run.Steps(), err)
	// Output:
	// true
	// 4 <nil>
}

// A line is a model that has no tokens: anything that can say its loss can be trained.
type line struct{ layer *nn.Linear }

func (l line) Members() []nn.Member { return []nn.Member{{Name: "layer", Part: l.layer}} }

func (l line) Loss(x, y tensor.Tensor) tensor.Tensor {
	return l.layer.Forward(x).Sub(y).Square().Mean()
}

// points are 32 examples of y = 3x.
type points struct{}

func (points) Fingerprint() string { return "y = 3x" }

func (points) Batch(int) (data.Batch, error) {
	x := tensor.Linspace(-1, 1, 32).Reshape(32, 1)
	return data.Batch{Inputs: x, Targets: x.Mul(3)}, nil
}

func ExampleModel() {
	m := line{nn.NewLinear(1, 1)}
	run, err := train.Run(context.Background(), m, points{}, train.Options{Steps: 200, LR: optim.Constant(0.1)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("y = %.2f·x after %d examples\n", m.layer.Weight.Item(), run.Examples)
	// Output: y = 3.00·x after 6400 examples
}
