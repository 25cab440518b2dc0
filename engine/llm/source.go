package llm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm/internal/coded"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// A source is what a model is read from: a folder, or a GGUF file that is seen as one.
type source struct {
	path    string // for errors
	files   map[string][]byte
	weights *pretrained.Weights
	close   func()
	gguf    bool // it is a file

	// Of a folder with a model of pictures or sound only the tensors with the prefix are read, and the output
	// matrix, head.
	prefix, head string
}

// openSource opens a folder, a GGUF file, or the only GGUF file of a folder without a config.json.
func openSource(ctx context.Context, path string) (*source, error) {
	if err := pretrained.Missing(path); err != nil {
		return nil, err
	}
	file, err := ggufAt(path)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return openFolder(ctx, path)
	}
	m, err := ggufhub.Open(file, inFiles())
	if err != nil {
		return nil, err
	}
	s := &source{path: file, files: m.Files, weights: pretrained.WeightsOf(ctx, file, m, m.Names()), close: func() { m.Close() }, gguf: true}
	s.files[configFile], err = pretrained.Changed(s.files[configFile], func(keys map[string]any) {
		kind, _ := keys["model_type"].(string)
		f, _ := familyOf(kind)
		f.call(keys)
	})
	return s, err
}

// ggufAt is the GGUF file that a path means, "" if it means a folder.
func ggufAt(path string) (string, error) {
	stat, err := os.Stat(path)
	if err != nil || !stat.IsDir() {
		return path, nil // an error of opening says what is wrong
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	var found []string
	for _, entry := range list {
		if entry.Name() == configFile {
			return "", nil
		}
		if strings.HasSuffix(entry.Name(), ".gguf") {
			found = append(found, entry.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(path, found[0]), nil
	}
	return "", fmt.Errorf("%s: got no config.json and %d GGUF files, %s and %s among them: name one", path, len(found), found[0], found[1])
}

func openFolder(ctx context.Context, dir string) (*source, error) {
	s := &source{path: dir, files: map[string][]byte{}}
	text, err := regular.Read(filepath.Join(dir, configFile), maxConfig)
	if err != nil {
		return nil, err
	}
	s.files[configFile] = text
	for _, name := range carried {
		content, err := regular.Read(filepath.Join(dir, name), maxText)
		switch {
		case err == nil:
			s.files[name] = content
		case !os.IsNotExist(err):
			return nil, err
		}
	}
	if s.weights, err = pretrained.OpenWeights(ctx, dir); err != nil {
		return nil, err
	}
	s.close = s.weights.Close
	if err := s.openCodes(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openCodes makes matrices of what a folder has in codes. The settings say nothing of codes afterwards.
func (s *source) openCodes() error {
	all, err := pretrained.ParseSettings(filepath.Join(s.path, configFile), s.files[configFile])
	if err != nil {
		return err
	}
	found, err := coded.Open(s.weights, all)
	if err != nil || !found {
		return err
	}
	s.files[configFile], err = pretrained.Changed(s.files[configFile], func(keys map[string]any) {
		text, _ := keys["text_config"].(map[string]any)
		for _, key := range coded.Keys {
			delete(keys, key)
			delete(text, key)
		}
	})
	return err
}
