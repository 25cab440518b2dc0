package zmtp

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/nacl/box"
)

func listen(t *testing.T, o Options) (*Socket, string) {
	t.Helper()
	s, err := Listen("tcp", "127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(0) })
	return s, s.Addr().String()
}

// dial connects as a peer of a type, with keys by CURVE.
func dial(t *testing.T, address, kind, id string, keys *Keys) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	w := &wire{Conn: c, in: bufio.NewReader(c)}
	own := appendProperty(appendProperty(nil, "Socket-Type", []byte(kind)), "Identity", []byte(id))
	if keys == nil {
		_, err = w.exchangeNull(own)
	} else {
		err = w.connectCurve(&keys.Public, own)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// connectCurve shakes hands as CURVE's client.
func (w *wire) connectCurve(server *[32]byte, own []byte) error {
	long, longSecret, _ := box.GenerateKey(rand.Reader)
	short, shortSecret, _ := box.GenerateKey(rand.Reader)
	if err := w.greet("CURVE", false); err != nil {
		return err
	}
	one := []byte{0, 0, 0, 0, 0, 0, 0, 1}
	hello := append(append([]byte{1, 0}, make([]byte, 72)...), short[:]...)
	hello = box.Seal(append(hello, one...), make([]byte, 64), nonce("CurveZMQHELLO---", one), server, shortSecret)
	if err := w.writeFrames(command("HELLO", hello)); err != nil {
		return err
	}
	welcome, err := w.expect("WELCOME")
	if err != nil {
		return err
	}
	plain, ok := box.Open(nil, welcome[16:], nonce("WELCOME-", welcome[:16]), server, shortSecret)
	if !ok {
		return io.ErrUnexpectedEOF
	}
	theirs, cookie := (*[32]byte)(plain[:32]), plain[32:]
	w.box = &cipher{send: "CurveZMQMESSAGEC", expect: "CurveZMQMESSAGES", sent: 1}
	box.Precompute(&w.box.key, theirs, shortSecret)
	vouch := make([]byte, 16)
	vouch = box.Seal(vouch, append(bytes.Clone(short[:]), server[:]...), nonce("VOUCH---", vouch), theirs, longSecret)
	count := w.box.next()
	initiate := append(append(bytes.Clone(long[:]), vouch...), own...)
	initiate = box.SealAfterPrecomputation(append(bytes.Clone(cookie), count...), initiate, nonce("CurveZMQINITIATE", count), &w.box.key)
	if err := w.writeFrames(command("INITIATE", initiate)); err != nil {
		return err
	}
	_, err = w.expect("READY")
	return err
}

func keys(t *testing.T) *Keys {
	t.Helper()
	public, secret, err := box.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &Keys{*public, *secret}
}

func TestSockets(t *testing.T) {
	for name, k := range map[string]*Keys{"plain": nil, "curve": keys(t)} {
		t.Run(name, func(t *testing.T) {
			router, at := listen(t, Options{Kind: Router, Keys: k})
			w := dial(t, at, "DEALER", "me", k)
			sent := [][]byte{{}, bytes.Repeat([]byte("x"), 255), bytes.Repeat([]byte("y"), 256), bytes.Repeat([]byte("z"), 1<<20)}
			if err := w.write(sent, false); err != nil {
				t.Fatal(err)
			}
			m := <-router.Messages()
			if m.From != "me" || len(m.Frames) != 4 || !bytes.Equal(bytes.Join(m.Frames, nil), bytes.Join(sent, nil)) {
				t.Fatalf("got %d frames of %q", len(m.Frames), m.From)
			}
			router.Send("nobody", m.Frames)
			router.Send("me", m.Frames)
			if got, _, err := w.read(); err != nil || !bytes.Equal(bytes.Join(got, nil), bytes.Join(sent, nil)) {
				t.Fatalf("got %d frames, %v", len(got), err)
			}
			if err := w.write([][]byte{command("PING", []byte("\x00\x05ctx")).body}, true); err != nil {
				t.Fatal(err)
			}
			if got, isCommand, err := w.read(); err != nil || !isCommand || string(got[0]) != "\x04PONGctx" {
				t.Errorf("got %q, %v, want a PONG", got, err)
			}

			_, at = listen(t, Options{Kind: Rep, Keys: k})
			w = dial(t, at, "REQ", "", k)
			if err := w.write([][]byte{{}, []byte("ping")}, false); err != nil {
				t.Fatal(err)
			}
			if got, _, err := w.read(); err != nil || len(got) != 2 || string(got[1]) != "ping" {
				t.Errorf("got %q, %v, want an echo", got, err)
			}
		})
	}
}

// A subscription by a frame and one by a command; what nobody wants does not come.
func TestPublish(t *testing.T) {
	pub, at := listen(t, Options{Kind: Pub, Subscribed: func(topic string) [][]byte { return [][]byte{[]byte("welcome " + topic)} }})
	old, modern := dial(t, at, "SUB", "", nil), dial(t, at, "SUB", "", nil)
	if err := old.write([][]byte{[]byte("\x01a")}, false); err != nil {
		t.Fatal(err)
	}
	if err := modern.write([][]byte{command("SUBSCRIBE", []byte("b")).body}, true); err != nil {
		t.Fatal(err)
	}
	next := func(w *wire, want string) {
		t.Helper()
		if got, _, err := w.read(); err != nil || string(got[0]) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	next(old, "welcome a")
	next(modern, "welcome b")
	for _, topic := range []string{"bee", "ant", "cat", "bug"} {
		pub.Publish([][]byte{[]byte(topic)})
	}
	next(old, "ant")
	next(modern, "bee")
	next(modern, "bug")
	if err := modern.write([][]byte{command("CANCEL", []byte("b")).body}, true); err != nil {
		t.Fatal(err)
	}
	if err := modern.write([][]byte{command("SUBSCRIBE", []byte("c")).body}, true); err != nil {
		t.Fatal(err)
	}
	next(modern, "welcome c")
	pub.Publish([][]byte{[]byte("bee")})
	pub.Publish([][]byte{[]byte("cat")})
	next(modern, "cat")
}

// A peer that says nothing, or something else, or that does not read, costs the others nothing.
func TestBadPeers(t *testing.T) {
	refused := make(chan error, 10)
	pub, at := listen(t, Options{Kind: Pub, Log: func(err error) { refused <- err }})
	silent, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct{ name, send string }{
		{"another protocol", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + string(make([]byte, 64))},
		{"other security", string(greeting("PLAIN", false))},
		{"another command", string(greeting("NULL", false)) + string(appendFrame(nil, command("HELLO", nil)))},
		{"metadata that end early", string(greeting("NULL", false)) + string(appendFrame(nil, command("READY", []byte("\x0bSocket-Type\x00\x00\x00\x09SUB"))))},
		{"another type", string(greeting("NULL", false)) + string(appendFrame(nil, command("READY", appendProperty(nil, "Socket-Type", []byte("PULL")))))},
		{"a frame of 2^62 bytes", string(greeting("NULL", false)) + "\x06\x40\x00\x00\x00\x00\x00\x00\x00"},
	} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, c.send); err != nil {
			t.Fatal(err)
		}
		select {
		case <-refused:
		case <-time.After(time.Minute):
			t.Errorf("%s: was not refused", c.name)
		}
		conn.Close()
	}
	stalled, reader := dial(t, at, "SUB", "", nil), dial(t, at, "SUB", "", nil)
	for _, w := range []*wire{stalled, reader} {
		if err := w.write([][]byte{{1}}, false); err != nil {
			t.Fatal(err)
		}
	}
	for len(pub.list()) < 2 || !pub.list()[0].wants(nil) || !pub.list()[1].wants(nil) {
		time.Sleep(time.Millisecond)
	}
	const messages = 100
	go func() {
		for range messages {
			pub.Publish([][]byte{make([]byte, 1<<20)})
		}
	}()
	for i := range messages / 2 { // of more than 64 MiB that it does not read in time some may be lost
		if _, _, err := reader.read(); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// A client whose connection is lost comes again with its identity, and gets what is sent to it.
func TestComesAgain(t *testing.T) {
	router, at := listen(t, Options{Kind: Router})
	first := dial(t, at, "DEALER", "me", nil)
	for len(router.list()) < 1 {
		time.Sleep(time.Millisecond)
	}
	second := dial(t, at, "DEALER", "me", nil)
	if _, _, err := first.read(); err == nil {
		t.Error("the first connection goes on")
	}
	router.Send("me", [][]byte{[]byte("hello")})
	if got, _, err := second.read(); err != nil || string(got[0]) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s-1")
	gone, err := net.Listen("unix", path)
	if err != nil {
		t.Skip("this system has no unix sockets: ", err)
	}
	gone.(*net.UnixListener).SetUnlinkOnClose(false)
	gone.Close()
	s, err := Listen("unix", path, Options{Kind: Rep})
	if err != nil {
		t.Fatalf("in the place of a socket whose process has gone: %v", err)
	}
	defer s.Close(0)
	if _, err := Listen("unix", path, Options{Kind: Rep}); err == nil {
		t.Error("listens where another does")
	}
}

func TestParseKeys(t *testing.T) {
	const good = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7" // of a server in the specification of CURVE, 54fcba24…1bc2d652
	k, err := ParseKeys(good, good)
	if err != nil || !bytes.HasPrefix(k.Public[:], []byte{0x54, 0xfc, 0xba, 0x24}) || !bytes.HasSuffix(k.Secret[:], []byte{0x1b, 0xc2, 0xd6, 0x52}) {
		t.Errorf("got % x, %v", k, err)
	}
	for _, bad := range []string{"", good[1:], "~" + good[1:]} {
		if _, err := ParseKeys(bad, good); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}
