package gpu_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// wired is a driver whose devices link with themselves.
type wired struct{ *fake.Driver }

func (d wired) Open(index int) (gpu.Device, error) {
	device, err := d.Driver.Open(index)
	return &linkable{device, d.Driver}, err
}

type linkable struct {
	gpu.Device
	driver *fake.Driver
}

func (d *linkable) Links() (string, error) { return "wires 1.0", nil }
func (d *linkable) Meet() ([]byte, error)  { return []byte("here"), nil }
func (d *linkable) Link(_ []byte, rank, size int) (gpu.Link, error) {
	return &loop{d.driver, rank, size, false}, nil
}

// A loop brings each rank what it sends to itself.
type loop struct {
	driver     *fake.Driver
	rank, size int
	ended      bool
}

func (l *loop) Move(s gpu.Stream, dst, src gpu.Arg, bytes, apart int) error {
	if l.ended {
		return errors.New("the link was closed")
	}
	var errs []error
	for r := range l.size {
		errs = append(errs, s.Copy(dst.Buffer, dst.Offset+r*bytes, src.Buffer, src.Offset+l.rank*apart, bytes))
	}
	return errors.Join(errs...)
}

func (l *loop) Err() error { return nil }

func (l *loop) Abort() error {
	l.ended = true
	l.driver.Release()
	return nil
}

func (l *loop) Close() error {
	l.ended = true
	return nil
}

func TestLink(t *testing.T) {
	src, dst := []byte("abcdefghijkl"), make([]byte, 8)
	open := func() (*fake.Driver, *gpu.Backend, backend.Link, func() error) {
		d := &fake.Driver{Infos: []gpu.Info{fake.Info()}}
		b := must(gpu.Open(wired{d}, 0, "fake:0"))(t)
		link := must(b.Link(must(b.Meet())(t), 1, 2))(t)
		x, y := must(b.Alloc(12))(t), must(b.Alloc(12))(t)
		if err := b.Upload(x, 0, src); err != nil {
			t.Fatal(err)
		}
		move := func() error {
			return link.Move(backend.Slice{Buf: y, Offset: 4}, backend.Slice{Buf: x, Offset: 2}, 4, 5)
		}
		read := func() error { return b.Download(t.Context(), dst, y, 4) }
		if err := errors.Join(move(), read()); err != nil || !bytes.Equal(dst, []byte("hijkhijk")) {
			t.Fatalf("got %q, %v", dst, err)
		}
		return d, b, link, func() error { return errors.Join(move(), read()) }
	}
	gone := errors.New("rank 1: its process has ended")

	d, b, link, use := open()
	d.Hold()
	read := make(chan error)
	go func() { read <- use() }()
	select {
	case err := <-read:
		t.Fatalf("a move did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	link.Break(gone)
	if err := <-read; !errors.Is(err, backend.ErrLost) || !errors.Is(err, gone) {
		t.Errorf("read what a broken link has left: %v", err)
	}
	if err := use(); !errors.Is(err, gone) {
		t.Errorf("then: got %v", err)
	}
	b.Close()

	_, b, link, use = open()
	link.Break(gone) // nothing waits: the device lives
	if err := use(); err == nil || !strings.Contains(err.Error(), "the link was closed") {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(link.Close(), b.Close()); err != nil {
		t.Error(err)
	}

	_, b, link, _ = open()
	if err := errors.Join(link.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	alone := must(gpu.Open(&fake.Driver{Infos: []gpu.Info{fake.Info()}}, 0, "fake:0"))(t)
	for what, err := range map[string]error{
		"links": func() error { _, err := alone.Links(); return err }(),
		"meet":  func() error { _, err := alone.Meet(); return err }(),
		"link":  func() error { _, err := alone.Link(nil, 0, 2); return err }(),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s without links: got %v", what, err)
		}
	}
	alone.Close()
}
