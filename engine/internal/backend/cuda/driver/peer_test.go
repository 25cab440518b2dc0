package driver

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// Memory of another device is copied by one call, once its pool lets this one read; where the devices do not
// reach each other, or an old driver has no such call, nothing is encoded.
func TestCopyFromAnotherDevice(t *testing.T) {
	for _, c := range []struct {
		name         string
		pools, peers uintptr
		breaks       bool
		want         error
	}{
		{name: "pools", pools: 1, peers: 1},
		{name: "no pools", peers: 1},
		{name: "no peers", pools: 1, want: errors.ErrUnsupported},
		{name: "a pool that refuses", pools: 1, peers: 1, breaks: true, want: errors.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStub(t)
			s.ask("pools", c.pools)
			s.ask("peers", c.peers)
			d, st := s.open()
			other, err := s.driver.Open(1)
			if err != nil {
				t.Fatal(err)
			}
			from, err := other.Stream()
			if err != nil {
				t.Fatal(err)
			}
			if c.breaks {
				s.fail(cuMemPoolSetAccess, 0, 801)
			}
			host, src, dst := s.alloc(d, gpu.SharedMemory), s.alloc(other, gpu.DeviceMemory), s.alloc(d, gpu.DeviceMemory)
			if err := from.Fill(src, 0, 256, 7); err != nil {
				t.Fatal(err)
			}
			s.commit(from)
			s.calls()
			for range 2 {
				if err := st.CopyFrom(dst, 0, src, 128, 128); !errors.Is(err, c.want) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
			}
			if c.want == nil {
				if err := st.Copy(host, 0, dst, 0, 128); err != nil {
					t.Fatal(err)
				}
				s.commit(st)
				if calls := s.calls(); slices.Index(calls, "cuMemPoolSetAccess") >= 0 != (c.pools == 1) || !bytes.Equal(host.Host()[:128], bytes.Repeat([]byte{7}, 128)) {
					t.Errorf("got %v by %v", host.Host()[:128], calls)
				}
			}
			if err := st.CopyFrom(dst, 0, dst, 0, 1); err == nil {
				t.Error("a device copies from itself")
			}
			for _, b := range []gpu.Buffer{host, src, dst} {
				b.Free()
			}
			for _, close := range []func() error{st.Close, from.Close, d.Close, other.Close} {
				if err := close(); err != nil {
					t.Error(err)
				}
			}
			s.clean(c.name)
		})
	}
}
