package session

import (
	"net/http"
	"strings"
	"testing"
)

// What the standard library has once for a process, each session has for itself: of two that run beside each
// other, one does not see what the other sets or registers.
func TestSessionsBesideEachOther(t *testing.T) {
	const get = `func get(from string) string { r, _ := http.Get(from); b, _ := io.ReadAll(r.Body); r.Body.Close(); return string(b) }` + "\n"
	for _, c := range []struct{ name, cell, want string }{ // $ is the session's number
		{"handlers", get + `http.HandleFunc("/x", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "$") })
l := net.Listen("tcp", "127.0.0.1:0"); go http.Serve(l, nil); get("http://" + l.Addr().String() + "/x")`, "$"},
		{"a server's handlers", get + `http.HandleFunc("/x", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "$") })
l := net.Listen("tcp", "127.0.0.1:0"); srv := &http.Server{}; go srv.Serve(l); get("http://" + l.Addr().String() + "/x")`, "$"},
		{"a server of a test", get + `http.Handle("/x", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "$") }))
srv := httptest.NewServer(nil); get(srv.URL + "/x")`, "$"},
		{"other handlers", get + `http.DefaultServeMux = http.NewServeMux(); http.HandleFunc("/y", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "$") })
srv := httptest.NewServer(http.DefaultServeMux); get(srv.URL + "/y")`, "$"},
		{"the client", `before := http.DefaultClient.Timeout; http.DefaultClient.Timeout = $ * time.Second; fmt.Sprint(before, http.DefaultClient.Timeout)`, "0s $s"},
		{"another client", `type by struct{}
func (by) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("by $") }
http.DefaultClient = &http.Client{Transport: by{}}; _, err := http.Head("http://localhost"); errors.Unwrap(err).Error()`, "by $"},
		{"another transport", `type by struct{}
func (by) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("by $") }
http.DefaultTransport = by{}; c := &http.Client{Timeout: time.Second}; _, err := c.PostForm("http://localhost", nil); errors.Unwrap(err).Error()`, "by $"},
		{"the transport", `t := http.DefaultTransport.(*http.Transport); before := t.MaxIdleConns; t.MaxIdleConns = $; fmt.Sprint(before, t.MaxIdleConns)`, "100 $"},
		{"arguments", `os.Args = append(os.Args[:1], "-n", "$"); n := flag.Int("n", 0, ""); flag.Parse(); fmt.Sprint(*n, len(os.Args))`, "$ 3"},
		{"a logger", `log.SetPrefix("$"); log.Prefix()`, "$"},
		{"a type of gob's", `type T struct{ N int }; gob.Register(T{}); gob.Register(T{}); gob.RegisterName("name", &struct{ S string }{}); var b bytes.Buffer
gob.NewEncoder(&b).Encode([]any{T{$}}); var got []any; gob.NewDecoder(&b).Decode(&got); fmt.Sprintf("%T %v", got[0], got[0].(T).N)`, "main.T $"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, number := range []string{"1", "2"} {
				t.Run(number, func(t *testing.T) {
					t.Parallel()
					s, _ := newSession(t, Options{})
					of := strings.NewReplacer("$", number)
					got, want := run(t, s, of.Replace(c.cell)), of.Replace(c.want)
					if strings.Contains(c.cell, "{") { // what it registers it may register again
						got = run(t, s, of.Replace(c.cell))
					}
					if got = strings.Trim(got, `"`); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				})
			}
		})
	}
	if n := http.DefaultTransport.(*http.Transport).MaxIdleConns; n != 100 {
		t.Errorf("the process has %d idle connections now", n)
	}
}
