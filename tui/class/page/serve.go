package page

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"kviz/tui/class/door"
)

// ServeHTTP is [http.Handler]. There are two places: the page, which also takes the code, and the changes of it.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.heads(w.Header())
	switch {
	case !p.calledRight(r.Host):
		refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("This page is for this machine alone, as http://localhost or http://127.0.0.1; %q is another name.", r.Host))
	case r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		p.show(w, r)
	case r.URL.Path == "/" && r.Method == http.MethodPost:
		p.enter(w, r)
	case r.URL.Path == "/":
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed, "This page is read.")
	case r.URL.Path == eventsPath && r.Method == http.MethodGet:
		p.follow(w, r)
	case r.URL.Path == eventsPath:
		w.Header().Set("Allow", "GET")
		refuse(w, http.StatusMethodNotAllowed, "Changes are read.")
	default:
		refuse(w, http.StatusNotFound, "There is nothing here. The class is at /.")
	}
}

const eventsPath = "/events"

// heads are the headers of every answer: nothing but the page's own style and script is obeyed, nothing is kept, and no other
// site can have the page in a frame.
func (p *Page) heads(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// calledRight reports whether a request at a loopback address calls the page as this machine does. A page in a browser can have
// its own name lead to 127.0.0.1 (DNS rebinding) and would read here what the browser takes for its own site's. Elsewhere a
// request has a cookie, which the browser sends to no other name.
func (p *Page) calledRight(host string) bool {
	p.mu.Lock()
	local := p.local
	p.mu.Unlock()
	if !local {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// refuse answers in a sentence.
func refuse(w http.ResponseWriter, status int, says string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, says+"\n")
}

// sized is which size a request asks for: that of a telephone if it asks for none that there is.
func sized(r *http.Request) int {
	w, err := strconv.Atoi(r.URL.Query().Get("size"))
	for i, s := range sizes {
		if err == nil && s.W == w {
			return i
		}
	}
	return 0
}

// show shows the page, or asks for the code.
func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	if !p.admitted(r) {
		p.asks(w, http.StatusOK, "")
		return
	}
	now := p.boards[sized(r)].look()
	w.Header().Set("Content-Type", htmlType)
	_, _ = w.Write(now.page)
}

const htmlType = "text/html; charset=utf-8"

// asks asks for the code; wrong is what was wrong with the one before.
func (p *Page) asks(w http.ResponseWriter, status int, wrong string) {
	w.Header().Set("Content-Type", htmlType)
	w.WriteHeader(status)
	_ = enterPage.Execute(w, map[string]any{"Cfg": p.cfg, "Style": pageStyle, "Wrong": wrong})
}

// enter takes the code. Each counts as one that was typed at the door.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	if err := p.cross.Check(r); err != nil {
		refuse(w, http.StatusForbidden, "The code is typed on the class's own page.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "That is no code.")
		return
	}
	if p.cfg.Door.Code() == "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	code := strings.TrimSpace(r.PostForm.Get("code"))
	if code == "" || len(code) > maxCode {
		p.asks(w, http.StatusForbidden, "Type the code that stands on the projector.")
		return
	}
	switch err := p.cfg.Door.Try(host(r.RemoteAddr), code); {
	case errors.Is(err, door.ErrGuesses):
		w.Header().Set("Retry-After", "60")
		p.asks(w, http.StatusTooManyRequests, err.Error())
	case err != nil:
		p.asks(w, http.StatusForbidden, err.Error())
	default:
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: p.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}
