package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// sumGolangOrg is the checksum database that Go knows, with its key.
const (
	sumGolangOrg = "sum.golang.org"
	sumKey       = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
)

// sums are the checksums of a main module: the lines of its go.sum, and those that were found right since.
type sums struct {
	mu    sync.Mutex
	known map[module.Version][]string // of go.sum; the version of a go.mod ends in /go.mod
	right map[module.Version]string
}

// readSums reads the go.sum of a folder; an empty folder has none.
func readSums(root string) *sums {
	s := &sums{known: map[module.Version][]string{}, right: map[module.Version]string{}}
	if root == "" {
		return s
	}
	text, _ := regular.Read(filepath.Join(root, "go.sum"), maxText) // without one the database is asked
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 {
			m := module.Version{Path: f[0], Version: f[1]}
			s.known[m] = append(s.known[m], f[2])
		}
	}
	return s
}

// lines are the checksums of all that was used, as go.sum has them.
func (s *sums) lines() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(s.right), func(a, b module.Version) int {
		return strings.Compare(a.Path+" "+a.Version, b.Path+" "+b.Version)
	})
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s %s %s\n", m.Path, m.Version, s.right[m])
	}
	return b.String()
}

// check holds the checksum of a module, or of its go.mod, against go.sum, or else the database.
func (c *Client) check(ctx context.Context, s *sums, m module.Version, got string) error {
	s.mu.Lock()
	known, right := s.known[m], s.right[m]
	s.mu.Unlock()
	if right == got {
		return nil
	}
	for _, want := range known {
		if want != got && strings.HasPrefix(want, "h1:") {
			return &SumError{Got: got, Want: want, Where: "go.sum"}
		}
	}
	if !slices.Contains(known, got) && !c.env.unchecked(m.Path) {
		if err := c.ask(ctx, m, got); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.right[m] = got
	return nil
}

// ask holds a checksum against the database. The database keeps its answers, that it could not be reached,
// and a question that hangs, so the next time another one is asked.
func (c *Client) ask(ctx context.Context, m module.Version, got string) error {
	c.mu.Lock()
	d := c.sums
	c.mu.Unlock()
	answer := make(chan error, 1)
	go func() { answer <- d.check(m, got) }() // package sumdb knows no context
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case err = <-answer:
	}
	if wrong := new(SumError); err != nil && !errors.As(err, &wrong) {
		c.mu.Lock()
		if c.sums == d { // others have asked it at the same time
			c.sums = newDatabase(c)
		}
		c.mu.Unlock()
	}
	return err
}

// A SumError says that a module is not what it was: its checksum differs from the one that was written down.
type SumError struct{ Got, Want, Where string }

func (e *SumError) Error() string {
	return fmt.Sprintf("checksum differs: got %s, want %s as %s says; it was not loaded, because somebody may have changed it on its way", e.Got, e.Want, e.Where)
}

// A database is a checksum database, asked through golang.org/x/mod/sumdb.
type database struct {
	c            *Client
	name, key    string
	once         sync.Once
	base         string // the address that answers
	err          error
	client       *sumdb.Client
	mu           sync.Mutex
	securityText string
}

func newDatabase(c *Client) *database {
	d := &database{c: c}
	fields := strings.Fields(c.env.SumDB)
	if len(fields) == 0 {
		return d
	}
	d.key = fields[0]
	if d.key == sumGolangOrg || d.key == "sum.golang.google.cn" {
		d.name, d.key = sumGolangOrg, sumKey
	}
	d.name, _, _ = strings.Cut(d.key, "+")
	if len(fields) > 1 {
		d.base = strings.TrimSuffix(fields[1], "/")
	}
	d.client = sumdb.NewClient(d)
	d.client.SetGONOSUMDB(c.env.NoSumDB)
	return d
}

// check holds a checksum against the database's.
func (d *database) check(m module.Version, got string) error {
	if d.client == nil {
		return errors.New("GOSUMDB is empty; it names a database or is off")
	}
	lines, err := d.client.Lookup(m.Path, m.Version)
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.securityText != "" {
			return fmt.Errorf("%s is not what it was before: %s", d.name, d.securityText)
		}
		return fmt.Errorf("checksum: %w", err)
	}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) == 3 && f[1] == m.Version && strings.HasPrefix(f[2], "h1:") {
			if f[2] != got {
				return &SumError{Got: got, Want: f[2], Where: d.name}
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no checksum for it", d.name)
}

// address finds where the database answers: a proxy that passes it on, or its own address.
func (d *database) address(ctx context.Context) (string, error) {
	d.once.Do(func() {
		if d.base != "" {
			return
		}
		for _, proxy := range strings.FieldsFunc(d.c.env.Proxy, func(r rune) bool { return r == ',' || r == '|' }) {
			if proxy == "direct" || proxy == "off" || !strings.Contains(proxy, "://") {
				continue
			}
			base := strings.TrimSuffix(proxy, "/") + "/sumdb/" + d.name
			_, err := d.c.get(ctx, base+"/supported", maxText)
			if err == nil {
				d.base = base
				return
			}
			if missing := new(missingError); !errors.As(err, &missing) {
				d.err = err
				return
			}
		}
		d.base = "https://" + d.name
	})
	return d.base, d.err
}

// answerWait is how long the database may take for an answer.
const answerWait = time.Minute

// ReadRemote reads from the database. The interface has no context, and [Client.ask] does not wait longer
// than its own.
func (d *database) ReadRemote(path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	base, err := d.address(ctx)
	if err != nil {
		return nil, err
	}
	return d.c.get(ctx, base+path, maxText)
}

// ReadConfig reads what is known of the database's tree.
func (d *database) ReadConfig(file string) ([]byte, error) {
	if file == "key" {
		return []byte(d.key), nil
	}
	text, err := os.ReadFile(filepath.Join(d.c.env.SumTree, filepath.FromSlash(file)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // an empty tree
	}
	return text, err
}

// WriteConfig writes what is known of the database's tree, if nobody has changed it meanwhile.
func (d *database) WriteConfig(file string, old, now []byte) error {
	name := filepath.Join(d.c.env.SumTree, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	// The go command locks the file itself, which store replaces: a writer that comes between is found by the
	// next check, because trees only grow.
	lock, err := durable.WaitLock(context.Background(), name+".lock", patience)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if is, _ := os.ReadFile(name); !bytes.Equal(is, old) {
		return sumdb.ErrWriteConflict
	}
	return store(name, now)
}

// ReadCache reads a tile or an answer that was asked for before.
func (d *database) ReadCache(file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(d.c.env.ModCache, "cache", "download", "sumdb", filepath.FromSlash(file)))
}

// WriteCache keeps a tile or an answer; without it the next process asks again.
func (d *database) WriteCache(file string, data []byte) {
	_ = store(filepath.Join(d.c.env.ModCache, "cache", "download", "sumdb", filepath.FromSlash(file)), data)
}

// Log drops what the client says of its own work.
func (d *database) Log(string) {}

// SecurityError keeps the proof that the database has changed what it said before.
func (d *database) SecurityError(msg string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.securityText = strings.TrimSpace(msg)
}
