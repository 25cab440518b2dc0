package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// A checkpoint is a folder "step-00000020" with the weights that training changes, the optimizer's tensors
// and a state; the manifest lists their sizes and SHA-256. It is written under another name, synced and
// renamed (see package durable): a folder with that name is complete, and the manifest tells if it was
// damaged later. Numbers that JSON cannot hold are strings: see number.go.
const (
	paramsFile    = "params.safetensors"
	optimizerFile = "optimizer.safetensors"
	stateFile     = "state.json"
	manifestFile  = "manifest.json"
	format        = "mcs checkpoint 2"
)

const maxManifest = 1 << 20 // bytes

// manifest lists a checkpoint's files.
type manifest struct {
	Format string
	Files  map[string]fileSum
}

type fileSum struct {
	Bytes  int64
	SHA256 string
}

// state is what a run is besides tensors.
type state struct {
	Signature string // see signatureOf
	Data      string `json:",omitempty"` // what the data says that it is, for people
	Base      string // hash of the weights that are not trained
	Step      int    // of the optimizer
	Batches   int    // taken from the data
	Random    tensor.RNGState
	History   *History
	Due       bool `json:",omitempty"` // whether the step's evaluation is still to be made
}

// maxState bounds the history of a run: some ten million steps.
const maxState = 1 << 30

// savedState says which state of the run has a checkpoint, so that it is not written twice.
type savedState struct {
	step int
	due  bool
}

// openCheckpoints takes the folder for the run. If it holds checkpoints the run resumes from them, or is
// refused.
func (t *trainer) openCheckpoints() error {
	var notes []string
	step, ok, err := t.oneOf(func(steps []int) (step int, err error) {
		if !t.o.Resume {
			return 0, fmt.Errorf("train: %s has checkpoints (%s is the newest): set Resume to go on from it, or choose another folder", t.o.Checkpoint, folderOf(steps[0]))
		}
		step, notes, err = t.newest(steps)
		return step, err
	})
	if err != nil || !ok {
		return err
	}
	dir := filepath.Join(t.o.Checkpoint, folderOf(step))
	if err := t.load(dir, step); err != nil {
		return fmt.Errorf("train: checkpoint %s: %w", dir, err)
	}
	t.history.Notes = append(t.history.Notes, notes...)
	t.removeOld(step) // a run that was killed after its last save has left them, and this one may save nothing
	return nil
}

// oneOf returns the step of the checkpoint that choose takes of those that there are, newest first, and
// whether there are some. If it takes none it returns −1. Rank 0 chooses.
func (t *trainer) oneOf(choose func(steps []int) (int, error)) (step int, ok bool, err error) {
	text, err := t.o.Ranks.Once(func() ([]byte, error) {
		steps, err := checkpoints(t.o.Checkpoint)
		step := -1
		if err == nil && len(steps) > 0 {
			step, err = choose(steps)
		}
		return fmt.Append(nil, step), err
	})
	if err != nil {
		return 0, false, err
	}
	step, err = strconv.Atoi(string(text))
	return step, step >= 0, err
}

// untrained lists the weights of the model that training leaves as they are.
func untrained(m nn.Module, params []nn.Param) []nn.Param {
	trained := map[tensor.Tensor]bool{}
	for _, p := range params {
		trained[p.Value()] = true
	}
	return slices.DeleteFunc(nn.Params(m), func(p nn.Param) bool { return trained[p.Value()] || p.Running() })
}

// changed lists the weights that training changes: those of the optimizer, and running statistics.
func (t *trainer) changed() []nn.Param {
	running := slices.DeleteFunc(nn.Params(t.model), func(p nn.Param) bool { return !p.Running() })
	return slices.Concat(t.params, running)
}

// newest finds the newest checkpoint that is whole, and notes those that are not.
func (t *trainer) newest(steps []int) (step int, notes []string, err error) {
	var damaged []error
	for _, step := range steps {
		dir := filepath.Join(t.o.Checkpoint, folderOf(step))
		if err := verify(dir); err != nil {
			damaged = append(damaged, err)
			notes = append(notes, "left out a damaged checkpoint: "+err.Error())
			continue
		}
		return step, notes, nil
	}
	return 0, nil, fmt.Errorf("train: %s: no checkpoint is whole: %w", t.o.Checkpoint, errors.Join(damaged...))
}

// verify holds a checkpoint's files against its manifest.
func verify(dir string) error {
	text, err := regular.Read(filepath.Join(dir, manifestFile), maxManifest)
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, manifestFile), err)
	}
	if m.Format != format {
		return fmt.Errorf("%s: got format %q, want %q", dir, m.Format, format)
	}
	for _, name := range []string{paramsFile, optimizerFile, stateFile} {
		path := filepath.Join(dir, name)
		got, err := sumOf(path)
		if err != nil {
			return err
		}
		if want := m.Files[name]; got != want {
			return fmt.Errorf("%s: got %d bytes with SHA-256 %.12s…, want %d with %.12s…", path, got.Bytes, got.SHA256, want.Bytes, want.SHA256)
		}
	}
	return nil
}

func sumOf(path string) (fileSum, error) {
	f, err := regular.Open(path)
	if err != nil {
		return fileSum{}, err
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	return fileSum{n, hex.EncodeToString(hash.Sum(nil))}, err
}

// load puts a verified checkpoint into the run. Everything is read and checked before anything is changed.
func (t *trainer) load(dir string, step int) error {
	text, err := t.o.Ranks.Once(func() ([]byte, error) { return regular.Read(filepath.Join(dir, stateFile), maxState) })
	if err != nil {
		return err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s: %w", stateFile, err)
	}
	if s.History == nil {
		return fmt.Errorf("%s: the history is missing", stateFile)
	}
	if got := s.History.Steps(); got != step {
		return fmt.Errorf("it holds step %d, want that of its name: it is a copy of another", got)
	}
	if err := t.same(s); err != nil {
		return err
	}
	params, err := t.tensors(filepath.Join(dir, paramsFile))
	if err != nil {
		return err
	}
	memory, err := t.tensors(filepath.Join(dir, optimizerFile))
	if err != nil {
		return err
	}
	if err := t.fits(params); err != nil {
		return err
	}
	if err := t.optimizer.SetState(optim.State{Step: s.Step, Tensors: memory}); err != nil {
		return err
	}
	if err := t.put(params); err != nil {
		return err
	}
	t.random.SetState(s.Random)
	history := s.History
	history.Total, history.Interrupted = t.o.Steps, false
	if s.Signature != t.signature {
		history.Notes = append(history.Notes, fmt.Sprintf("from step %d on the learning rate is that of a run of %d steps: %v", step, t.o.Steps, t.o.LR))
	}
	t.taken, t.history, t.due = s.Batches, history, s.Due
	t.saved = savedState{step, s.Due}
	return nil
}

// same returns an error that says what differs between this run and that of a checkpoint, or nil.
func (t *trainer) same(s state) error {
	if s.Signature == "" {
		return errors.New("it does not say which options its run had: an earlier version could not write an infinite Clip")
	}
	what, err := difference(s.Signature, t.signature, t.o.Steps > s.History.Total, s.Data, described(t.data))
	switch {
	case err != nil:
		return fmt.Errorf("%s: signature: %w", stateFile, err)
	case what != "":
		return fmt.Errorf("it is of another run: %s", what)
	case s.Base != t.base:
		return errors.New("the weights that are not trained differ from those of that run")
	}
	return nil
}

// described is what data says that it is, or "".
func described(d data.Source) string {
	if s, ok := d.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// save writes a checkpoint, unless the state has one already, and then removes those that are too old.
func (t *trainer) save(due bool) error {
	step := t.history.Steps()
	if t.saved == (savedState{step, due}) {
		return nil
	}
	dir := filepath.Join(t.o.Checkpoint, folderOf(step))
	err := t.together()
	if err == nil {
		_, err = t.o.Ranks.Once(func() ([]byte, error) {
			if err := t.write(dir, due); err != nil {
				return nil, err
			}
			return nil, verify(dir)
		})
	}
	if err != nil {
		return fmt.Errorf("train: checkpoint %s: %w", dir, err)
	}
	t.saved = savedState{step, due}
	t.removeOld(step)
	return nil
}

// removeOld leaves the newest checkpoints up to step. One that cannot be removed is noted, and stops nothing.
func (t *trainer) removeOld(step int) {
	if t.o.Ranks.Rank() > 0 {
		return
	}
	err := removeOld(t.o.Checkpoint, step, t.o.Keep, t.history.Best().Step)
	if err == nil {
		return
	}
	if note := "old checkpoints stay: " + err.Error(); !slices.Contains(t.history.Notes, note) {
		t.history.Notes = append(t.history.Notes, note)
	}
}

func (t *trainer) write(dir string, due bool) error {
	folder, err := durable.NewFolder(dir)
	if err != nil {
		return err
	}
	defer folder.Drop()
	m := manifest{Format: format, Files: map[string]fileSum{}}
	add := func(name string, write func(io.Writer) error) {
		if err != nil {
			return
		}
		hash, counter := sha256.New(), &count{}
		err = folder.WriteFile(name, func(w io.Writer) error { return write(io.MultiWriter(w, hash, counter)) })
		m.Files[name] = fileSum{counter.n, hex.EncodeToString(hash.Sum(nil))}
	}
	params := map[string]tensor.Tensor{}
	for _, p := range t.changed() {
		params[p.Name] = p.Value()
	}
	optimizer := t.optimizer.State()
	add(paramsFile, func(w io.Writer) error { return writeTensors(w, params) })
	add(optimizerFile, func(w io.Writer) error { return writeTensors(w, optimizer.Tensors) })
	add(stateFile, func(w io.Writer) error {
		return writeJSON(w, state{
			Signature: t.signature, Data: described(t.data), Base: t.base, Step: optimizer.Step, Batches: t.taken, Random: t.random.State(), History: t.history, Due: due,
		})
	})
	add(manifestFile, func(w io.Writer) error { return writeJSON(w, manifest{m.Format, maps.Clone(m.Files)}) })
	if err != nil {
		return err
	}
	return folder.Commit()
}

func writeTensors(w io.Writer, tensors map[string]tensor.Tensor) error {
	entries, err := safetensors.Entries(tensors)
	if err != nil {
		return err
	}
	return safetensors.Write(w, entries, nil)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// count counts bytes.
type count struct{ n int64 }

func (c *count) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}
