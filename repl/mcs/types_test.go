package main

import "testing"

// A program's types are real ones for compiled packages: their methods hide, name and encode what is deep
// inside.
func TestCompiledPackagesSeeTypes(t *testing.T) {
	t.Parallel()
	const program = `package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"time"
)

type Secret string

func (Secret) LogValue() slog.Value         { return slog.StringValue("***") }
func (Secret) MarshalText() ([]byte, error) { return []byte("hidden"), nil }

type Login struct {
	User  string    ` + "`json:\"user\" xml:\"user,attr\"`" + `
	Pass  Secret    ` + "`json:\"pass\" xml:\"pass\"`" + `
	Since time.Time ` + "`json:\"-\" xml:\"-\"`" + `
	tries int
}

func main() {
	l := Login{User: "ann", Pass: "pw", Since: time.Unix(0, 0).UTC()}
	b, err := json.Marshal(map[string][]*Login{"all": {&l}})
	fmt.Println(string(b), err)
	b, err = xml.Marshal(l)
	fmt.Println(string(b), err)
	h := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	slog.New(h).Info("login", "pass", l.Pass)
	fmt.Printf("%T %+v %s\n", l, struct{ Since time.Time }{l.Since}, reflect.TypeOf(l).Field(3).Name)
}
`
	const want = `{"all":[{"user":"ann","pass":"hidden"}]} <nil>
<Login user="ann"><pass>hidden</pass></Login> <nil>
level=INFO msg=login pass=***
main.Login {Since:1970-01-01 00:00:00 +0000 UTC} tries
`
	stdout, stderr, code := mcs(t, writeFiles(t, map[string]string{"main.go": program}), "", "run", "main.go")
	if stdout != want || code != 0 {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
}
