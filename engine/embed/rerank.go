package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A Reranker says how well documents answer a query. It reads both at once, so it is better than a comparison
// of vectors and slower: it sorts again the best that [Model.Similarity] has found.
//
//	r := embed.LoadReranker(ctx, "ms-marco-MiniLM-L6-v2")
//	r.Rank(ctx, "how long is a day?", documents...)
type Reranker struct {
	Model *Model // body, tokenizer, and how many tokens query and document may have together

	// Head maps the vector of a pair to its score: a layer and what follows it, mostly, and one of one
	// column.
	Head []nn.Layer
	Raw  bool // scores are any numbers; otherwise they are probabilities

	// Of a language model that is asked: what it shall judge, and what stands around it.
	Instruct, Before, After string

	mean    bool     // of the vectors of all tokens; otherwise the first one's, or of a decoder the last one's
	answers *answers // nil: Head
	prefix  string   // of the body's names
	names   []string // of the layers of Head, "" for what has no weights
	stored  []string // the names of the weights that it was read with
}

// A Ranked is a document with its score.
type Ranked struct {
	Index int // among the documents
	Score float64
	Text  string
}

// String says all three.
func (r Ranked) String() string { return fmt.Sprintf("%.4f  %d  %s", r.Score, r.Index, r.Text) }

// Rank returns the documents with their scores, the best first.
func (r *Reranker) Rank(ctx context.Context, query string, documents ...string) ([]Ranked, error) {
	scores, err := r.Scores(ctx, query, documents...)
	if err != nil {
		return nil, err
	}
	list := make([]Ranked, len(documents))
	for i, text := range documents {
		list[i] = Ranked{i, scores[i], text}
	}
	slices.SortStableFunc(list, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return list, nil
}

// Scores says how well each document answers the query: probabilities, unless the model is Raw. Together they
// have as many tokens as the model takes: what is longer is cut. It reports its progress, and stops with the
// cause when ctx is done.
func (r *Reranker) Scores(ctx context.Context, query string, documents ...string) ([]float64, error) {
	if len(documents) == 0 {
		return nil, errors.New("rank: got no documents")
	}
	texts, kinds := make([][]int, len(documents)), make([][]int, len(documents))
	for i, d := range documents {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var err error
		if texts[i], kinds[i], err = r.tokens(query, d); err != nil {
			return nil, fmt.Errorf("rank: %w", err)
		}
	}
	var all []float32
	err := access.Try(device.On(ctx, nn.Device(r)), func() error {
		all = batches(ctx, texts, r.Model.room(), 1, func(at []int, count, length int) tensor.Tensor {
			to := nn.Device(r)
			y := r.Forward(chosen(texts, at, count, length).To(to), chosen(kinds, at, count, length).Maximum(0).To(to))
			if !r.Raw {
				y = y.Sigmoid()
			}
			return y
		})
		return nil
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	scores := make([]float64, len(all))
	for i, x := range all {
		scores[i] = float64(x)
	}
	return scores, err
}

// tokens are those of a pair, and their kinds.
func (r *Reranker) tokens(query, document string) (ids, kinds []int, err error) {
	t, most := r.Model.Tokenizer, r.Model.room()
	if r.answers == nil {
		ids, kinds, err = t.EncodePair(query, document, most)
	} else {
		before, after := t.Encode(r.Before, false), t.Encode(r.After, false)
		text := t.Encode(fmt.Sprintf("<Instruct>: %s\n<Query>: %s\n<Document>: %s", r.Instruct, query, document), false)
		text = text[:min(len(text), max(0, most-len(before)-len(after)))]
		ids = slices.Concat(before, text, after)
		kinds = make([]int, len(ids))
	}
	for _, id := range ids {
		if id >= r.Model.Body.Vocab() {
			return nil, nil, fmt.Errorf("got token %d of the tokenizer, but the model has %d", id, r.Model.Body.Vocab())
		}
	}
	return ids, kinds, err
}

// Forward maps the tokens of pairs and their kinds, i64 [B T] each, to scores that are any numbers, f32 [B].
// Where a pair has ended the token is −1. Gradients reach the weights.
func (r *Reranker) Forward(ids, kinds tensor.Tensor) tensor.Tensor {
	seen := ids.Ge(0)
	ids = ids.Maximum(0)
	how, x := Last, tensor.Tensor{}
	if e, ok := r.Model.Body.(*Encoder); ok {
		how = First
		if e.Types == nil || e.Config.Types < 2 {
			kinds = tensor.Tensor{}
		}
		x = e.ofKinds(ids, kinds, seen)
	} else {
		x = r.Model.Body.Vectors(ids, seen)
	}
	if r.mean {
		how = Mean
	}
	x = pool([]Pooling{how}, x, seen)
	if r.answers != nil {
		return r.answers.forward(x)
	}
	for _, l := range r.Head {
		x = l.Forward(x)
	}
	return x.Squeeze(-1).Cast(dtype.F32)
}

// Tokens returns the tokens of queries, each with its document, and their kinds, i64 [pairs 2 T], where T is
// the length of the longest pair: what Loss wants. Where a pair has ended the token is −1.
func (r *Reranker) Tokens(queries, documents []string) (tensor.Tensor, error) {
	if len(queries) != len(documents) || len(queries) == 0 {
		return tensor.Tensor{}, fmt.Errorf("rank: got %d queries and %d documents, want a document for each query", len(queries), len(documents))
	}
	var list [][]int
	longest := 1
	for i, query := range queries {
		ids, kinds, err := r.tokens(query, documents[i])
		if err != nil {
			return tensor.Tensor{}, fmt.Errorf("rank: %w", err)
		}
		list, longest = append(list, ids, kinds), max(longest, len(ids))
	}
	return rows(list, len(list), longest).Reshape(len(queries), 2, longest).To(nn.Device(r)), nil
}

// Loss is the mean binary cross-entropy of pairs, as rows of Tokens, whose documents answer the query with
// the probabilities of the targets, f32 [B]: 1 or 0, mostly. So a Reranker is a model as package train wants
// it.
func (r *Reranker) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if inputs.Rank() != 3 || inputs.Len(1) != 2 || targets.Rank() != 1 || targets.Len(0) != inputs.Len(0) {
		panic(&tensor.Error{Op: "embed.Reranker", Msg: fmt.Sprintf("got inputs %v and targets %v, want [B 2 T] and [B]", inputs.Shape(), targets.Shape())})
	}
	x := r.Forward(inputs.Slice(1, 0, 1).Squeeze(1), inputs.Slice(1, 1, 2).Squeeze(1).Maximum(0))
	return targets.Mul(x.LogSigmoid()).Add(tensor.Sub(1, targets).Mul(x.Neg().LogSigmoid())).Mean().Neg()
}

// Members lists the body and the layers of the head, by their names in the folder.
func (r *Reranker) Members() []nn.Member {
	if r.answers != nil {
		return r.answers.m.Members()
	}
	list := r.Model.Body.Members()
	for i := range list {
		list[i].Name = r.prefix + list[i].Name
	}
	for i, name := range r.names {
		if name != "" {
			list = append(list, nn.Member{Name: name, Slot: &r.Head[i]})
		}
	}
	return list
}

// SaveReranker writes a reranker as a folder like the one that it came from, with its weights as they are
// now. A model with other weights than that had, those of adapters for example, is an error: merge or remove
// an adapter first. Readers find the old folder or the whole new one.
func SaveReranker(dir string, r *Reranker) (err error) {
	defer wrap.Error(&err, "embed")
	if err := whole(r, r.stored); err != nil {
		return err
	}
	return r.Model.write(dir, map[string]nn.Module{"": r})
}

// String says what the model is.
func (r *Reranker) String() string {
	parameters, _ := nn.Size(r)
	return fmt.Sprintf("reranker: %v · %d parameters", r.Model.Body, parameters)
}

// answers are two tokens of which a language model chooses one.
type answers struct {
	m       *llm.Model
	yes, no int
}

// forward is how much likelier "yes" is than "no", the logarithm of the odds.
func (a *answers) forward(x tensor.Tensor) tensor.Tensor {
	of := func(id int) tensor.Tensor {
		if l, ok := a.m.Head.(*nn.Linear); ok {
			return l.Weight.Slice(1, id, id+1)
		}
		return a.m.Embed.(*nn.Embedding).Weight.Slice(0, id, id+1).Transpose()
	}
	w := of(a.yes).Cast(dtype.F32).Sub(of(a.no).Cast(dtype.F32))
	return x.Cast(dtype.F32).MatMul(w).Squeeze(-1)
}

// LoadReranker reads a reranker from a folder as transformers and sentence-transformers write it: an encoder
// or a decoder with a head of one label (BertForSequenceClassification and its like), or a language model
// that answers yes or no (Qwen3-Reranker), which is asked as that one is. Scores are probabilities unless the
// folder says that they are not (activation_fn). LoadReranker stops when ctx is done.
func LoadReranker(ctx context.Context, dir string) (*Reranker, error) {
	l := &loader{ctx: ctx, dir: dir}
	r := &Reranker{Model: &l.m}
	if err := l.try(func() error { return l.reranker(r) }); err != nil {
		return nil, err
	}
	return r, nil
}

func (l *loader) reranker(r *Reranker) error {
	if err := pretrained.Missing(l.dir); err != nil {
		return err
	}
	s, err := l.config("")
	if err != nil {
		return err
	}
	var labels map[string]string
	s.Read("id2label", &labels, "an object of strings")
	class := strings.Join(s.Texts("architectures"), " ")
	asked := strings.HasSuffix(class, "ForCausalLM")
	if !asked && len(labels) != 1 {
		s.Fail("id2label", "got %d labels of %s, want a model for sequence classification with one", len(labels), class)
	}
	act := s.Text("sbert_ce_default_activation_function", "torch.nn.modules.activation.Sigmoid")
	if own := s.Object("sentence_transformers"); own != nil {
		act = own.Text("activation_fn", act)
	}
	if own, err := l.settings(promptsFile); err != nil {
		return err
	} else if own != nil {
		act = own.Text("activation_fn", act)
	}
	switch act[strings.LastIndexByte(act, '.')+1:] {
	case "Sigmoid":
	case "Identity":
		r.Raw = true
	default:
		s.Fail("activation_fn", "got %q, want Sigmoid or Identity", act)
	}
	if s.Err() != nil {
		return s.Err()
	}
	if asked {
		err = l.asked(r)
	} else {
		err = l.classifier(r, s)
	}
	if err == nil {
		err = l.texts("")
	}
	if err != nil {
		return err
	}
	nn.SetNames(r)
	r.stored = namesOf(r)
	return nil
}

// asked reads a language model that answers.
func (l *loader) asked(r *Reranker) error {
	m, err := llm.Load(l.ctx, l.dir)
	if err != nil {
		return err
	}
	_, tied := m.Embed.(*nn.Embedding)
	_, own := m.Head.(*nn.Linear)
	if m.Head == nil && !tied || m.Head != nil && !own {
		return fmt.Errorf("%s: the output matrix is in codes, want one in numbers", l.dir)
	}
	l.m.Body, l.m.Tokenizer = &Decoder{m}, m.Tokenizer
	if m.Tokenizer == nil {
		return fmt.Errorf("%s: no tokenizer", l.dir)
	}
	r.answers = &answers{m, m.Tokenizer.ID("yes"), m.Tokenizer.ID("no")}
	if r.answers.yes < 0 || r.answers.no < 0 {
		return fmt.Errorf("%s: the tokenizer has no tokens yes and no", l.dir)
	}
	r.Instruct = "Given a web search query, retrieve relevant passages that answer the query"
	r.Before = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. " +
		"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
	r.After = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
	return nil
}

// classifier reads a body with its head.
func (l *loader) classifier(r *Reranker, s *pretrained.Settings) (err error) {
	if l.m.Body, err = l.body(s, l.dir); err != nil {
		return err
	}
	w, err := pretrained.OpenWeights(l.ctx, l.dir)
	if err != nil {
		return err
	}
	defer w.Close()
	e, ok := l.m.Body.(*Encoder)
	if !ok {
		r.Head, r.prefix, r.names = []nn.Layer{w.Linear("score", l.m.Body.Width(), 1, false)}, "model.", []string{"score"}
		return w.Err()
	}
	f, width := families()[e.Config.Family], e.Width()
	bias := !f.before || s.Bool("classifier_bias", false)
	acts := map[string]nn.Func{"tanh": nn.Tanh(), "relu": nn.ReLU(), "gelu": nn.GELU(), "silu": nn.SiLU()}
	act := f.head.act
	if f.before {
		act = s.OneOf("classifier_activation", "gelu", "gelu", "relu", "silu", "tanh")
		r.mean = s.OneOf("classifier_pooling", "cls", "cls", "mean") == "mean"
	}
	if s.Err() != nil {
		return s.Err()
	}
	dense := f.head.dense
	if f.head.inside {
		dense = f.prefix + dense
	}
	r.Head, r.names, r.prefix = []nn.Layer{w.Linear(dense, width, width, bias), acts[act]}, []string{dense, ""}, f.prefix
	if f.head.norm != "" {
		n := &nn.LayerNorm{Weight: w.Vector(f.head.norm+".weight", width), Eps: e.Config.Eps}
		if e.Config.NormBias {
			n.Bias = w.Vector(f.head.norm+".bias", width)
		}
		r.Head, r.names = append(r.Head, n), append(r.names, f.head.norm)
	}
	r.Head, r.names = append(r.Head, w.Linear(f.head.out, width, 1, true)), append(r.names, f.head.out)
	return w.Err()
}
