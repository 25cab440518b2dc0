package llm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/llm/internal/hub"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A Hub says what [Download] fetches, and from where.
type Hub struct {
	Revision string   // a branch, tag or commit; "": main
	Files    []string // patterns, as "*Q8_0.gguf"; nil: what Load reads
	Cache    string   // the folder for all repositories; "": $MCS_HUB, or mcs/hub in the user's cache folder
	Endpoint string   // the server; "": $HF_ENDPOINT, or https://huggingface.co
	Token    string   // for private repositories; "": $HF_TOKEN
}

// Download fetches a repository of a model, "org/name", and returns the folder that [Load] reads: one for
// each commit. Files that are there already are not fetched again, and one that was interrupted, by a kill
// too, is continued. A file gets its name when its hash is the server's, so a folder never has half of one.
// Without Files it fetches safetensors, settings and tokenizer, or, where the repository has no safetensors,
// its only GGUF file. Progress is reported in bytes. Nothing else in mcs reaches the network.
func Download(ctx context.Context, repository string, o Hub) (dir string, err error) {
	defer wrap.Error(&err, "llm: download")
	cache := cmp.Or(o.Cache, os.Getenv("MCS_HUB"))
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "mcs", "hub")
	}
	choose := readable
	if o.Files != nil {
		choose = hub.Matching(o.Files...)
	}
	return hub.Fetch(ctx, repository, hub.Options{
		Revision: o.Revision, Cache: cache, Choose: choose,
		Endpoint: cmp.Or(o.Endpoint, os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), Token: cmp.Or(o.Token, os.Getenv("HF_TOKEN")),
	})
}

// readable chooses what Load reads of a repository.
func readable(names []string) ([]string, error) {
	var list, ggufs []string
	weights := false
	patterns := append([]string{configFile, weightsFile, weightsFile + ".index.json", "model-*-of-*.safetensors"}, carried...)
	for _, name := range names {
		if strings.HasSuffix(name, ".gguf") {
			ggufs = append(ggufs, name)
		}
		for _, p := range patterns {
			if ok, _ := path.Match(p, name); ok {
				list = append(list, name)
				weights = weights || strings.HasSuffix(name, ".safetensors")
				break
			}
		}
	}
	switch {
	case weights:
		return list, nil
	case len(ggufs) == 1:
		return ggufs, nil
	case len(ggufs) > 1:
		return nil, fmt.Errorf("there are %d GGUF files: choose one in Files, among %s", len(ggufs), hub.Some(ggufs))
	}
	return nil, fmt.Errorf("there is no %s and no GGUF file, but %s", weightsFile, hub.Some(names))
}
