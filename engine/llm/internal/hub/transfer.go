package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// A laterError is one that may be gone when the request is made again.
type laterError struct {
	err   error
	after time.Duration // what the server asks to wait
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// errWhole says that a server answered a request for the rest of a file with all of it.
var errWhole = errors.New("the server gives no parts of files")

const maxRedirects = 10

// slowest is how much a server has to send while it is waited for: one that sends a byte now and then says
// nothing. A try that brings less is not one that has brought something.
const slowest = 1 << 10

// A body is that of an answer. It ends with an error when the server says nothing for too long.
type body struct {
	io.ReadCloser
	heard  int // bytes since the watch was set
	header http.Header
	code   int
	watch  *time.Timer
	wait   time.Duration
	cancel context.CancelCauseFunc
	ctx    context.Context
}

func (b *body) Read(p []byte) (int, error) {
	if b.heard >= slowest {
		b.heard = 0
		b.watch.Reset(b.wait)
	}
	n, err := b.ReadCloser.Read(p)
	b.heard += n
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *body) Close() error {
	b.watch.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// request gets an address from byte number from on, through redirects. The token goes to the endpoint alone,
// and never over a connection that is not encrypted where the endpoint's is.
func (h *hub) request(ctx context.Context, address string, from int64) (*body, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := fmt.Errorf("the server says nothing, or next to nothing, for %v", h.Patience)
	watch := time.AfterFunc(h.Patience, func() { cancel(&laterError{err: silent}) })
	fail := func(err error) (*body, error) {
		watch.Stop()
		cancel(nil)
		return nil, err
	}
	client := *h.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for range maxRedirects {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return fail(err)
		}
		r.Header.Set("User-Agent", "mcs")
		r.Header.Set("Accept-Encoding", "identity") // lengths are those of the file
		if h.Token != "" && r.URL.Host == h.host {
			r.Header.Set("Authorization", "Bearer "+h.Token)
		}
		if from > 0 {
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		}
		answer, err := client.Do(r)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return fail(cause)
			}
			return fail(&laterError{err: err})
		}
		if location := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && location != "" {
			answer.Body.Close()
			next, err := r.URL.Parse(location)
			if err != nil || next.Scheme != "https" && (next.Scheme != "http" || strings.HasPrefix(h.endpoint, "https:")) {
				return fail(fmt.Errorf("the server leads to %.100q, want an address of https", location))
			}
			address = next.String()
			continue
		}
		b := &body{answer.Body, slowest, answer.Header, answer.StatusCode, watch, h.Patience, cancel, ctx}
		if err := h.problem(answer); err != nil {
			b.Close()
			return nil, err
		}
		return b, nil
	}
	return fail(fmt.Errorf("the server leads on and on, %d times", maxRedirects))
}

// problem is the error of an answer without content, in words of what to do.
func (h *hub) problem(answer *http.Response) error {
	code := answer.StatusCode
	said := cmp.Or(answer.Header.Get("X-Error-Message"), answer.Status)
	switch {
	case code == http.StatusOK || code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable:
		if kind := answer.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") && !strings.HasSuffix(answer.Request.URL.Path, ".html") {
			return errors.New("the server sends a page of HTML in the place of it: is there a login, or a proxy, between?")
		}
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		hint := "the token may not read it, or its terms are not accepted"
		if h.Token == "" {
			hint = "a private or gated repository needs a token (HF_TOKEN), or there is none of that name"
		}
		return fmt.Errorf("the server says %.200q: %s", said, hint)
	case code == http.StatusNotFound:
		return fmt.Errorf("the server says %.200q: want a repository and a revision that it has (revision %s)", said, h.Revision)
	case code == http.StatusTooManyRequests || code >= 500:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return &laterError{fmt.Errorf("the server says %.200q", said), time.Duration(max(0, seconds)) * time.Second}
	}
	return fmt.Errorf("the server says %.200q", said)
}

// transfer appends to w what follows its byte number at, and returns how many bytes it got.
func (h *hub) transfer(ctx context.Context, w *os.File, commit string, f file, at int64, done func(n int64)) (got int64, err error) {
	if at == f.size && at > 0 {
		return 0, nil
	}
	b, err := h.request(ctx, h.url(h.repository, "resolve", commit, f.name), at)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	switch {
	case b.code == http.StatusRequestedRangeNotSatisfiable:
		return 0, fmt.Errorf("the server says that the file has no byte %d, and that it has %d", at, f.size)
	case b.code == http.StatusOK && at > 0:
		return 0, errWhole
	case b.code == http.StatusPartialContent:
		want := fmt.Sprintf("bytes %d-%d/%d", at, f.size-1, f.size)
		if got := b.header.Get("Content-Range"); got != want {
			return 0, fmt.Errorf("the server sends %.60q, want %q", got, want)
		}
	}
	if n, err := strconv.ParseInt(b.header.Get("Content-Length"), 10, 64); err == nil && n != f.size-at {
		return 0, fmt.Errorf("the server sends %d bytes, want %d of %d", n, f.size-at, f.size)
	}
	if _, err := w.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	buffer := make([]byte, 256<<10)
	for {
		n, err := b.Read(buffer)
		if got+int64(n) > f.size-at {
			return got, fmt.Errorf("the server sends more than the %d bytes that it says", f.size)
		}
		if _, err := w.Write(buffer[:n]); err != nil {
			return got, err
		}
		got += int64(n)
		done(int64(n))
		switch {
		case err == io.EOF && got == f.size-at:
			return got, nil
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return got, &laterError{err: fmt.Errorf("the connection ended after %d of %d bytes", at+got, f.size)}
		case ctx.Err() != nil:
			return got, context.Cause(ctx)
		case err != nil:
			return got, &laterError{err: err}
		}
	}
}
