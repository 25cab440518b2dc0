package ranks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/launch"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
	"github.com/mcs-notebook/mcs/engine/internal/tcpstore"
)

// meeting is how long ranks wait for each other when they start.
const meeting = 5 * time.Minute

// secret is a variable with a word that the processes of a run know and others do not.
const secret = "MCS_SECRET"

// keyOf is with what processes of a run show that they belong to it: the secret, the name of the run and its
// attempt, and what rank 0 has left in the launcher's store.
func keyOf(secret, run, left string) []byte {
	key := sha256.Sum256([]byte(secret + "\n" + run + "\n" + left))
	return key[:]
}

// byTCP connects the processes of a launcher that is not one of MPI. They meet at the port that it names; but
// where it has its store there, at one that rank 0 chooses and leaves a word of in the store.
func byTCP(ctx context.Context, l launch.Launch) (*mesh.Link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, fmt.Errorf("waited for %v", meeting))
	defer cancel()
	host, port, err := net.SplitHostPort(l.Meet)
	if err != nil {
		return nil, err
	}
	word := l.Run + "meeting"
	if l.Rank == 0 && l.By != launch.Own {
		if l.Served {
			port = "0"
		}
		from := ""
		if l.Here {
			from = host
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(from, port))
		if err != nil {
			return nil, fmt.Errorf("%w; it is where all ranks meet: choose another port, as torchrun --master-port does", err)
		}
		left := ""
		if l.Served {
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			left = port + " " + rand.Text()
			if err := tcpstore.Set(ctx, l.Meet, word, left); err != nil {
				listener.Close()
				return nil, fmt.Errorf("%w; TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 makes torchrun leave MASTER_PORT to mcs", err)
			}
		}
		go mesh.Serve(ctx, listener, l.Size, keyOf(os.Getenv(secret), l.Run, left))
	}
	return mesh.Process{Rank: l.Rank, Size: l.Size, Here: l.Here}.Join(ctx, func(ctx context.Context) (mesh.Place, error) {
		if !l.Served {
			return mesh.Place{Addr: l.Meet, Key: keyOf(os.Getenv(secret), l.Run, "")}, nil
		}
		left, there, err := tcpstore.Get(ctx, l.Meet, word)
		if err == nil && !there {
			err = errors.New("rank 0 has not come")
		}
		port, _, _ := strings.Cut(left, " ")
		return mesh.Place{Addr: net.JoinHostPort(host, port), Key: keyOf(os.Getenv(secret), l.Run, left)}, err
	})
}
