package session

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
)

// producer is the type of what [Session.Assign] calls.
var producer = types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(
	types.NewVar(token.NoPos, nil, "", types.NewSlice(types.Typ[types.String])),
	types.NewVar(token.NoPos, nil, "", types.Universe.Lookup("error").Type())), false)

// Assign runs an assignment of lines of text, which f makes, for a command. Left is what stands before them:
// "files :=", or "files, err =". Where it leaves out the error, an error ends the cell.
func (s *Session) Assign(ctx context.Context, left string, f func() ([]string, error)) error {
	last := s.outs.last
	if s.outs.made == nil {
		s.outs.made = &out{Out: compile.Out{Var: "__lines", Type: producer}}
	}
	s.outs.made.value = reflect.ValueOf(f)
	s.outs.list[0], s.outs.last = s.outs.made, 0 // cells are counted from 1
	defer func() {
		delete(s.outs.list, 0)
		s.outs.last = last
	}()
	err := s.Declare(ctx, left+" _()", func(run func()) { run() })
	if failed := new(FailedError); errors.As(err, &failed) {
		return failed.Unwrap() // the command's error says enough
	}
	if refused := new(CheckError); errors.As(err, &refused) { // the typed text is the command's
		return errors.New(strings.ReplaceAll(refused.Diags[0].Message, "__lines()", "what the command prints"))
	}
	return err
}

// Chdir makes a folder the one that relative paths start from, those of the user's packages included, and
// returns its path. "" is the user's own folder, and "-" the one before.
func (s *Session) Chdir(dir string) (string, error) {
	now, err := filepath.Abs(s.opts.Dir)
	if err != nil {
		return "", err
	}
	user, err := os.UserHomeDir()
	rest, below := strings.CutPrefix(filepath.ToSlash(dir), "~/")
	switch {
	case dir == "-" && s.before == "":
		return "", errors.New("there is no folder before this one")
	case dir == "-":
		dir = s.before
	case dir != "" && dir != "~" && !below:
	case err != nil:
		return "", err
	default:
		dir = user
		if below {
			dir = filepath.Join(user, rest)
		}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(now, dir)
	}
	if s.opts.Dir == "" { // code of cells opens files from the process's folder
		if err := os.Chdir(dir); err != nil {
			return "", err
		}
	} else if info, err := os.Stat(dir); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is no folder", dir)
	} else {
		s.opts.Dir = dir
	}
	s.before = now
	s.packages.Move(home(s.opts))
	return filepath.Clean(dir), nil
}

// Aliases are names for the beginnings of command lines, which commands keep here.
func (s *Session) Aliases() map[string]string {
	if s.aliases == nil {
		s.aliases = map[string]string{}
	}
	return s.aliases
}
