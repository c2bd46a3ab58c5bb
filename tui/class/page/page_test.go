package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/page"
	"kviz/tui/grid"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// get is the answer to a request.
func get(p http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// whole is the page as it is loaded, which must be harmless and well formed.
func whole(t *testing.T, p *page.Page, target string) string {
	t.Helper()
	w := get(p, http.MethodGet, target)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("GET %s answers %d %s", target, w.Code, w.Header())
	}
	body := w.Body.String()
	if err := harmless(body, w.Header().Get("Content-Security-Policy")); err != nil {
		t.Errorf("GET %s: %v", target, err)
	}
	return body
}

// harmless refuses a page that a browser would have to mend, on which something runs or is fetched that is not the page's own,
// or which has characters that are not seen.
func harmless(body, policy string) error {
	if i := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || unicode.In(r, unicode.Cf) }); i >= 0 {
		return errors.New("it has a character that is not seen: " + body[max(0, i-20):i+4])
	}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		return err
	}
	inline := map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				return errors.New("<" + n.Data + "> has an attribute " + a.Key)
			}
		}
		switch n.Data {
		case "script", "style":
			inline[n.Data]++
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			if !strings.Contains(policy, n.Data+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
				return errors.New("the policy does not have the hash of <" + n.Data + ">")
			}
		case "img", "iframe", "object", "embed", "base", "link":
			return errors.New("it has a <" + n.Data + ">")
		}
	}
	if inline["script"] > 1 || inline["style"] != 1 {
		return errors.New("it has more scripts or styles than its own")
	}
	d := xml.NewDecoder(strings.NewReader(unscripted(body)))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// unscripted is a page without its script, which is not XML.
func unscripted(body string) string {
	before, rest, found := strings.Cut(body, "<script>")
	if !found {
		return body
	}
	_, after, _ := strings.Cut(rest, "</script>")
	return before + after
}

// read is the text that is read in an element.
func read(t *testing.T, body, id string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key != "id" || a.Val != id {
				continue
			}
			var b strings.Builder
			for c := range n.Descendants() {
				if c.Type == html.TextNode {
					b.WriteString(c.Data)
				}
			}
			return b.String()
		}
	}
	t.Fatalf("there is no element %q", id)
	return ""
}

func TestGolden(t *testing.T) {
	for _, at := range []string{"see", "open", "shown"} {
		p, _, _ := opens(t, at, "")
		body := whole(t, p, "/")
		_, body, _ = strings.Cut(body, "<body")
		body, _, _ = strings.Cut(body, "<script>")
		before, rest, _ := strings.Cut(body, `data-has="`)
		_, after, _ := strings.Cut(rest, `"`)
		tuitest.Golden(t, at, strings.ReplaceAll(before+after, "</g>", "</g>\n"))
	}
}

// TestWhatIsRead below the picture at each kind of beat.
func TestWhatIsRead(t *testing.T) {
	for _, c := range []struct {
		at      string
		caption string
		below   []string
		not     []string
	}{
		{"see", "Each member keeps its own copy of one log.a is the leader of term 1.", nil, []string{"answered"}},
		{"change", "b has entry 16 on disk.", nil, nil},
		{"open", "The leader now has an answer.", []string{"What becomes of the entry?", "It is committed", "It waits for the last member", "3 of 3 have answered"}, []string{"class said", "✓", "%"}},
		{"closed", "The leader now has an answer.", []string{"The poll is closed: 3 of 3 answered."}, []string{"class said", "✓", "%"}},
		{"hidden", "It moved to 16", []string{"✓ It is committed", "A majority has it"}, []string{"class said", "%"}},
		{"shown", "It moved to 16", []string{"What the class said", "✓ It is committed, though one member lacks it2 · 67 %", "✗ It waits for the last member1 · 33 %", "A majority has it"}, nil},
		{"point", "You will crash a member.", []string{"Which will it be? Point at it.", "Point at it."}, []string{"class said"}},
	} {
		p, _, _ := opens(t, c.at, "")
		for _, target := range []string{"/", "/?size=80", "/?size=120"} {
			body := whole(t, p, target)
			if got := read(t, body, "caption"); !strings.Contains(got, c.caption) {
				t.Errorf("%s at %s: the caption is %q", target, c.at, got)
			}
			below := read(t, body, "below")
			for _, want := range c.below {
				if !strings.Contains(below, want) {
					t.Errorf("%s at %s: %q is not below:\n%s", target, c.at, want, below)
				}
			}
			for _, not := range c.not {
				if strings.Contains(below, not) {
					t.Errorf("%s at %s: %q is below:\n%s", target, c.at, not, below)
				}
			}
			for _, name := range []string{"mira", "jonas", "tarek"} {
				if strings.Contains(body, name) {
					t.Errorf("%s at %s says a name, %s", target, c.at, name)
				}
			}
		}
	}
}

// TestWhatTheClassSaidOfThePicture stands on it once the poll is shown, and not before.
func TestWhatTheClassSaidOfThePicture(t *testing.T) {
	for at, seen := range map[string]bool{"open": false, "closed": false, "hidden": false, "shown": true} {
		p, _, _ := opens(t, at, "")
		for _, target := range []string{"/", "/?size=120"} {
			plain := read(t, whole(t, p, target), "plain")
			if strings.Contains(plain, "2 of 3") != seen || strings.Contains(plain, "what the class said") != seen {
				t.Errorf("%s at %s: what the class said is on the picture, want %v:\n%s", target, at, seen, plain)
			}
			if strings.Contains(plain, "you said") || strings.Contains(plain, "┆ goes on") {
				t.Errorf("%s at %s: a ghost of one learner is on the picture:\n%s", target, at, plain)
			}
		}
	}
}

// TestSizes: a telephone's is what a browser gets that asks for nothing that there is.
func TestSizes(t *testing.T) {
	p, _, _ := opens(t, "see", "")
	for target, want := range map[string][2]int{
		"/": {60, 18}, "/?size=60": {60, 18}, "/?size=80": {80, 20}, "/?size=120": {120, 26}, "/?size=9999999999": {60, 18}, "/?size=-1": {60, 18}, "/?size=80&size=120": {80, 20},
	} {
		lines := strings.Split(read(t, whole(t, p, target), "plain"), "\n")
		if got := [2]int{grid.Width(lines[0]), len(lines)}; got != want {
			t.Errorf("%s is %v, want %v", target, got, want)
		}
	}
}

// TestNothingYet and the dark are said.
func TestNothingYet(t *testing.T) {
	p, s, _ := opens(t, "see", "")
	black := *s.now.scene
	black.Black = true
	s.goes(moment{scene: &black, room: s.now.room})
	body := whole(t, p, "/")
	if got := read(t, body, "caption"); got != "ada has made the screens dark." {
		t.Errorf("in the dark it says %q", got)
	}
	if plain := strings.TrimSpace(read(t, body, "plain")); plain != "" {
		t.Errorf("in the dark it shows\n%s", plain)
	}
}

// TestThePictureInWords: those who do not see it hear what it is and what the ring is around.
func TestThePictureInWords(t *testing.T) {
	p, _, _ := opens(t, "see", "")
	if got := read(t, whole(t, p, "/"), "alt"); !strings.Contains(got, "A picture: store · logs. In a ring: ★ a leader") {
		t.Errorf("the picture is %q", got)
	}
}

// TestHostileTexts: whatever a lesson, a run or a student's answer says is read, never obeyed.
func TestHostileTexts(t *testing.T) {
	const evil = "</pre></style></svg></script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;title\x07\x1b[31m\u202egnp\u2066]]>&lt;\x00 \"'`**"
	for _, at := range []string{"see", "open", "shown", "point"} {
		p, s, _ := opens(t, at, "")
		m := s.now
		scene, room := *m.scene, *m.room
		look := scene.Stand.Look
		b := *look.Beat
		b.Title, b.Before, b.After, b.Offer, b.Acts, b.Mistake = evil, evil, evil, evil, true, ""
		if b.Told != nil {
			told := *b.Told
			told.Why, told.More, told.Choices = evil, evil, []lessons.ChoiceLook{{Text: evil, Right: true}}
			b.Told = &told
		}
		look.Beat, look.Hint, look.Goals = &b, evil, []lessons.GoalLook{{Say: evil}, {Say: evil, Met: true}}
		if look.Ask != "" {
			look.Ask, look.Items, look.Choices = evil, []lessons.ItemLook{{Text: evil}}, []lessons.ChoiceLook{{Text: evil}}
		}
		scene.Stand.Look = look
		scene.Ran, scene.Around.Console.Last = b.ID, stage.Command{Line: evil, Exit: 1, Said: evil + "\n" + evil}
		room.Polls = map[string]class.Poll{}
		for beat, poll := range m.room.Polls {
			poll.Answers = []class.Share{{Words: evil, Count: 2, Answer: lessons.Answer{Said: lessons.Said{Parts: []int{7}}}}}
			room.Polls[beat] = poll
		}
		s.goes(moment{scene: &scene, room: &room, as: m.as})
		for _, target := range []string{"/", "/?size=120"} {
			if body := whole(t, p, target); !strings.Contains(body, "&lt;script&gt;") {
				t.Errorf("%s at %s does not show the text", target, at)
			}
		}
	}
}

// TestTheDoor asks for the code before it shows anything, counts guesses by address, and knows a browser again by its cookie.
func TestTheDoor(t *testing.T) {
	p, _, k := opens(t, "see", "plum-fern-42")
	form := whole(t, p, "/")
	if !strings.Contains(form, `name="code"`) || strings.Contains(form, "leader") {
		t.Errorf("it shows\n%s", form)
	}
	if w := get(p, http.MethodGet, "/events"); w.Code != http.StatusForbidden {
		t.Errorf("a page without the code gets changes: %d", w.Code)
	}
	type answer struct {
		status int
		says   string
		cookie *http.Cookie
	}
	types := func(code string, change ...func(*http.Request)) answer {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(url.Values{"code": {code}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range change {
			c(r)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		a := answer{status: w.Code, says: w.Body.String()}
		if all := w.Result().Cookies(); len(all) > 0 {
			a.cookie = all[0]
		}
		return a
	}
	if a := types("plum-fern-43"); a.status != http.StatusForbidden || a.cookie != nil || !strings.Contains(a.says, "That is not the code of this class.") {
		t.Errorf("a wrong code: %+v", a)
	}
	if a := types(""); a.status != http.StatusForbidden || len(k.guesses) != 1 {
		t.Errorf("no code at all: %+v, %d guesses", a, len(k.guesses))
	}
	if a := types("plum-fern-42", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }); a.status != http.StatusForbidden || a.cookie != nil || len(k.guesses) != 1 {
		t.Errorf("another site's form: %+v, %d guesses", a, len(k.guesses))
	}
	if a := types(strings.Repeat("x", 2000)); a.status != http.StatusBadRequest {
		t.Errorf("a long code: %+v", a)
	}
	in := types("plum-fern-42")
	if in.status != http.StatusSeeOther || in.cookie == nil || !in.cookie.HttpOnly || in.cookie.SameSite != http.SameSiteStrictMode || in.cookie.Path != "/" {
		t.Fatalf("the code: %+v", in)
	}
	if strings.Join(k.guesses, " ") != "192.0.2.1 192.0.2.1" {
		t.Errorf("guesses are counted for %v", k.guesses)
	}
	types("a")
	if a := types("b"); a.status != http.StatusTooManyRequests {
		t.Errorf("one guess too many: %+v", a)
	}
	for cookie, seen := range map[string]bool{in.cookie.Value: true, "": false, "x": false, in.cookie.Value + "x": false, strings.Repeat("x", 4000): false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Cookie", in.cookie.Name+"="+cookie)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), "Each member keeps its own copy"); got != seen {
			t.Errorf("with the cookie %q it shows the class: %v", cookie, got)
		}
	}
}

// TestRequests that are none of the page's are refused in a sentence.
func TestRequests(t *testing.T) {
	p, _, _ := opens(t, "see", "")
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"HEAD", "/", 200},
		{"PUT", "/", 405},
		{"DELETE", "/", 405},
		{"OPTIONS", "/", 405},
		{"TRACE", "/", 405},
		{"QUERY", "/", 405},
		{"POST", "/", 303},
		{"POST", "/events", 405},
		{"HEAD", "/events", 405},
		{"GET", "/favicon.ico", 404},
		{"GET", "//", 404},
		{"GET", "/./", 404},
		{"GET", "/events/", 404},
		{"GET", "/../../etc/passwd", 404},
		{"GET", "/%2e%2e/", 404},
		{"GET", "/%00", 404},
		{"POST", "/login", 404},
		{"GET", "http://elsewhere.example/x", 404},
	} {
		w := get(p, c.method, c.target)
		if w.Code != c.want {
			t.Errorf("%s %s answers %d, want %d", c.method, c.target, w.Code, c.want)
		}
		for header, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s %s answers with %s: %q", c.method, c.target, header, got)
			}
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s %s has the policy %q", c.method, c.target, csp)
		}
		if w.Code == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s does not say what is allowed", c.method, c.target)
		}
	}
}

// FuzzQuery: whatever a browser asks for, it gets one of the sizes, and what it said is not on the page.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"", "size=80", "size=1e9", "size=%", "size=80;x", "has=<script>", "size=%00&size=120", strings.Repeat("size=80&", 300)} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, _, _ := opens(t, "open", "")
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		lines := strings.Split(read(t, w.Body.String(), "plain"), "\n")
		if cols := grid.Width(lines[0]); w.Code != http.StatusOK || cols != 60 && cols != 80 && cols != 120 {
			t.Errorf("%q answers %d with a picture of %d columns", query, w.Code, cols)
		}
	})
}
