package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/mcs-notebook/mcs/internal/local"
)

// A guard lets nobody to the notebook but the page that it gave a cookie: who may ask, may run programs. It
// is one wrapper around the whole router, so no route can forget it.
type guard struct {
	port   int
	token  string // in the address that a person opens
	cookie string // what the browser has instead from then on
	hosts  map[string]bool
}

func newGuard(port int) *guard {
	g := &guard{port: port, token: rand.Text(), cookie: rand.Text(), hosts: map[string]bool{}}
	for _, name := range []string{"127.0.0.1", "localhost"} {
		g.hosts[fmt.Sprintf("%s:%d", name, port)] = true
	}
	return g
}

// address is that of a page, with the token.
func (g *guard) address(page string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/%s?token=%s", g.port, page, g.token)
}

// cookieName has the port, as browsers give cookies of one port to the others of a host.
func (g *guard) cookieName() string { return fmt.Sprintf("mcs-%d", g.port) }

// protect refuses what is not the page's own. The name of the host is checked against pages whose name leads
// here (DNS rebinding), the origin against pages of other servers; there are no CORS headers that would allow
// them to read anything.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce := rand.Text()
		g.head(w.Header(), nonce)
		switch {
		case !g.hosts[r.Host]:
			http.Error(w, fmt.Sprintf("got host %q, want that of the address that mcs web has printed", r.Host), http.StatusMisdirectedRequest)
		case !g.own(r):
			http.Error(w, "the request comes from another page", http.StatusForbidden)
		case r.Method == http.MethodGet && isPage(r.URL.Path) && local.Same(r.URL.Query().Get("token"), g.token):
			http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
		case !g.known(r):
			http.Error(w, "open the address that mcs web has printed: its token lets you in", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce)))
		}
	})
}

// head has browsers run and show nothing on the page but its own files, and nobody else show the page.
func (g *guard) head(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// own says whether a request comes from the page itself. What changes something has to say its origin;
// opening the address by a link of another page is no harm, as it needs the token or the cookie.
func (g *guard) own(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return (origin == "" || origin == "http://"+r.Host) && (isPage(r.URL.Path) || site == "" || site == "same-origin" || site == "none")
	}
	return origin == "http://"+r.Host && (site == "" || site == "same-origin")
}

func (g *guard) known(r *http.Request) bool {
	c, err := r.Cookie(g.cookieName())
	return err == nil && local.Same(c.Value, g.cookie)
}
