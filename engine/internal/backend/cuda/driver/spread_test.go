//go:build unix

package driver

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// Two devices hold a buffer together: what each writes to its part the other one reads, the handles go when
// the parts are mapped, and the memory with the last buffer. Whichever call fails, nothing stays.
func TestSpread(t *testing.T) {
	const grain = 4096
	for _, fails := range []function{functions, cuMemCreate, cuMemExportToShareableHandle, cuMemImportFromShareableHandle, cuMemAddressReserve, cuMemMap, cuMemSetAccess} {
		name := "none"
		if fails < functions {
			name = fails.String()
		}
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			before := s.ask("parts")
			d, st := s.open()
			opened, err := s.driver.Open(1)
			if err != nil {
				t.Fatal(err)
			}
			other := opened.(*device)
			devices, streams := []*device{d, other}, []*stream{st, nil}
			second, err := other.Stream()
			if err != nil {
				t.Fatal(err)
			}
			streams[1] = second.(*stream)
			if got, err := d.Spreads(); err != nil || got != grain {
				t.Fatalf("got %d, %v, want %d", got, err, grain)
			}
			if fails < functions {
				s.fail(fails, 0, 801)
			}
			var failed error
			lengths, parts := []int{2 * grain, grain}, make([]*os.File, 2)
			for i, d := range devices {
				f, err := d.Part(lengths[i])
				failed = errors.Join(failed, err)
				parts[i] = f
			}
			var made []gpu.Buffer
			for i, d := range devices {
				if failed != nil {
					break
				}
				list := make([]*os.File, 2)
				for k, f := range parts {
					list[k] = f
					if k != i { // as another process gets it
						fd, err := syscall.Dup(int(f.Fd()))
						if err != nil {
							t.Fatal(err)
						}
						list[k] = os.NewFile(uintptr(fd), "part")
						defer list[k].Close()
					}
				}
				b, err := d.Spread(2*grain+100, list, lengths, i)
				failed = errors.Join(failed, err)
				if err == nil {
					made = append(made, b)
				}
			}
			for _, f := range parts {
				f.Close() // of nil, too
			}
			if (failed != nil) != (fails < functions) {
				t.Fatalf("got %v", failed)
			}
			if failed == nil {
				for i, st := range streams {
					if err := st.Fill(made[i], i*2*grain, 100, byte(i+1)); err != nil {
						t.Fatal(err)
					}
					s.commit(st)
				}
				for i, st := range streams {
					host := s.alloc(devices[i], gpu.SharedMemory)
					if err := st.Copy(host, 0, made[i], (1-i)*2*grain, 100); err != nil {
						t.Fatal(err)
					}
					s.commit(st)
					if got, want := host.Host()[:100], bytes.Repeat([]byte{byte(2 - i)}, 100); !bytes.Equal(got, want) {
						t.Errorf("device %d: got %v of the other's part", i, got)
					}
					host.Free()
				}
			}
			for _, b := range made {
				b.Free()
			}
			if left := s.ask("parts"); left != before {
				t.Errorf("%d handles and parts are left", left-before)
			}
			for _, close := range []func() error{st.Close, second.Close, d.Close, other.Close} {
				if err := close(); err != nil {
					t.Error(err)
				}
			}
			s.clean(name)
		})
	}
}
