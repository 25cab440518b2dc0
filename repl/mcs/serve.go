package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/embed"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/internal/local"
	"github.com/mcs-notebook/mcs/repl/serve"
)

// tokenVariable is where a token can stand that nobody should see in the list of processes.
const tokenVariable = "MCS_SERVE_TOKEN"

func serveCommand() *cobra.Command {
	var o serve.Options
	var adapters []string
	embedder := ""
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Answer OpenAI's requests: chat, completions, embeddings",
		Long: `serve answers the requests of OpenAI's clients at http://127.0.0.1:8000/v1: chat/completions, completions (also streamed, with
log-probabilities and echo), embeddings and models. Chats may ask for JSON (response_format, also by a schema) and for calls of
tools. The texts of all requests grow side by side, each as it would alone.
Tokens are chosen as the request says, else as the model's folder says. Ctrl-C ends it, and answers in progress with an error.

A request calls the model by its folder's name, and an adapter by its own: --adapter french=tuned/french is the model
"french". Embeddings are those of the folder that --embed names; MODEL can then be left out. A
request's "task" takes the folder's adapter for it (Jina's third embeddings).

On 127.0.0.1 programs of this machine need no token. Elsewhere (--host 0.0.0.0) each request needs one: that of --token or
` + tokenVariable + `, or a random one that serve prints. The connection is not encrypted: put it behind a proxy that is, or in a tunnel.

` + aboutModels,
		Example: "  mcs serve Qwen2.5-0.5B-Instruct --adapter tuned/adapter\n  mcs serve Qwen2.5-0.5B-Instruct --host 0.0.0.0 --port 8080 --max-tokens 1024\n  mcs serve --embed all-MiniLM-L6-v2",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf("serve: got %d models, takes one; --adapter adds adapters of it", len(args))
			case len(args) == 0 && embedder == "":
				return errors.New("serve: got no model, want one, or --embed FOLDER")
			case len(args) == 0 && len(adapters) > 0:
				return errors.New("serve: got --adapter without a model")
			case o.Rows < 1 || o.Requests < 1 || o.Tokens < 1 || o.Timeout < 0:
				return fmt.Errorf("serve: got --rows %d, --max-requests %d, --max-tokens %d and --timeout %v, want positive numbers", o.Rows, o.Requests, o.Tokens, o.Timeout)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			o.Token, o.Log = cmp.Or(o.Token, os.Getenv(tokenVariable)), os.Stdout
			err := loadServed(ctx, &o, args, adapters, embedder)
			if err == nil {
				err = serve.Run(ctx, o)
			}
			if err != nil {
				return gaveUp(ctx, fmt.Errorf("serve: %w", err), exitUsage)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&adapters, "adapter", nil, "serve the adapter in `NAME=FOLDER`, too; without NAME= it is called as the folder; can be repeated")
	cmd.Flags().StringVar(&embedder, "embed", "", "serve the embeddings of the model in `FOLDER`, of sentence-transformers")
	cmd.Flags().StringVar(&o.Host, "host", local.Loopback, "listen on the address `HOST`; 0.0.0.0 are all of this machine's")
	cmd.Flags().IntVar(&o.Port, "port", 8000, "listen on port `N`; 0 is a free one")
	cmd.Flags().StringVar(&o.Token, "token", "", "ask each request for `TOKEN` as its API key")
	cmd.Flags().IntVar(&o.Rows, "rows", 16, "let `N` texts grow at once; others wait")
	cmd.Flags().IntVar(&o.Requests, "max-requests", 256, "refuse more than `N` texts that grow or wait")
	cmd.Flags().IntVar(&o.Tokens, "max-tokens", 4096, "make `N` tokens of an answer at most")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 10*time.Minute, "end a request that takes longer than `TIME`; 0 is no limit")
	return cmd
}

// loadServed loads what is served. Two models of one name are refused before.
func loadServed(ctx context.Context, o *serve.Options, args, adapters []string, embedder string) error {
	seen := map[string]bool{}
	named := func(name, path string) (string, error) {
		name = cmp.Or(name, called(path))
		if seen[name] {
			return "", fmt.Errorf("got two models that are called %s; --adapter NAME=FOLDER names one", name)
		}
		seen[name] = true
		return name, nil
	}
	var err error
	if len(args) > 0 {
		if o.Name, err = named("", args[0]); err != nil {
			return err
		}
	}
	folders := make([]string, len(adapters))
	for i, text := range adapters {
		name, path, ok := strings.Cut(text, "=")
		if !ok {
			name, path = "", text
		}
		if name, err = named(name, path); err != nil {
			return err
		}
		if err := (&modelFlags{path}).check(); err != nil {
			return err
		}
		folders[i] = path
		o.Adapters = append(o.Adapters, serve.Adapter{Name: name})
	}
	if embedder != "" {
		if o.EmbedName, err = named("", embedder); err == nil {
			o.Embedder, err = embed.Load(ctx, embedder)
		}
		if err != nil {
			return err
		}
		tasks := map[string]*embed.Model{} // which are read when they are first asked for
		o.Task = func(task string) (m *embed.Model, err error) {
			if tasks[task] == nil {
				if m, err = embed.LoadTask(ctx, embedder, task); err != nil {
					return nil, err
				}
				tasks[task] = m
			}
			return tasks[task], nil
		}
	}
	if len(args) == 0 {
		return nil
	}
	if o.Model, err = loadModel(ctx, args[0]); err != nil {
		return err
	}
	for i := range o.Adapters {
		a := &o.Adapters[i]
		if a.Adapter, err = lora.LoadAs(a.Name, folders[i], o.Model); err != nil {
			return err
		}
	}
	return nil
}

// called is what requests call the model of a path by: a repository's whole name, else the last part.
func called(path string) string {
	if isRepository(path) {
		return path
	}
	return filepath.Base(filepath.Clean(path))
}
