package mtls

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// askEvery is how often the client asks.
const askEvery = 10 * time.Second

// client asks a server, and shows the certificate that its pod has.
type client struct {
	in           runtime.Instance
	url          *url.URL
	trust, shows string // files
}

// StartClient begins the client in a container. It reads its files for each request.
func StartClient(in runtime.Instance) runtime.Program {
	c := &client{in: in}
	if err := c.load(); err != nil {
		end(in, err)
		return c
	}
	in.Process.Go("main", func(t *sim.Task) {
		for {
			t.Sleep(askEvery)
			if err := c.ask(t); err != nil {
				logf(t, in, "while sending requests to the server: %v", err)
			}
		}
	})
	return c
}

func (c *client) load() error {
	f, err := flags(c.in, "fetch-url", "server-trust-bundle", "client-cred-bundle")
	if err != nil {
		return err
	}
	c.trust, c.shows = f["server-trust-bundle"], f["client-cred-bundle"]
	if c.url, err = url.ParseRequestURI(f["fetch-url"]); err != nil {
		return fmt.Errorf("invalid --fetch-url: %w", err)
	}
	return nil
}

// Serve breaks the connection: nothing listens.
func (*client) Serve(*sim.Task, *remote.Request) (remote.Answer, error) {
	return remote.Answer{}, io.EOF
}

// ask is pollOnce.
func (c *client) ask(t *sim.Task) error {
	by, _, err := roots(c.in, c.trust)
	if err != nil {
		return fmt.Errorf("while reading service trust bundle: %w", err)
	}
	text, err := c.in.Read(c.shows)
	if err != nil {
		return fmt.Errorf("while reading client credential bundle: %w", err)
	}
	if !hasKey(text) {
		return errors.New("client credential bundle had no private key")
	}
	mine, err := chain(c.in, c.shows)
	if err != nil {
		return fmt.Errorf("while parsing private key from credential bundle: %w", err)
	}
	answer, err := c.get(t, mine)
	if err == nil {
		_, err = verify(answer.Shows, by, c.url.Hostname(), t.Now())
		if err != nil {
			err = fmt.Errorf("tls: failed to verify certificate: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("while getting URL: Get %q: %w", c.url, err)
	}
	if answer.Code < 200 || answer.Code >= 300 {
		return fmt.Errorf("non-2xx status %d %q", answer.Code, strconv.Itoa(answer.Code)+" "+http.StatusText(answer.Code))
	}
	logf(t, c.in, "Got response body: %s", answer.Body)
	return nil
}

func (c *client) get(t *sim.Task, mine [][]byte) (remote.Answer, error) {
	port := 443
	if given := c.url.Port(); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil {
			return remote.Answer{}, err
		}
		port = n
	}
	to, err := c.in.Dial(t, c.url.Hostname(), port)
	if err != nil {
		return remote.Answer{}, err
	}
	if !to.TLS() {
		return remote.Answer{}, errors.New("http: server gave HTTP response to HTTPS client")
	}
	return to.Serve(t, &remote.Request{Method: http.MethodGet, Path: c.url.Path, Shows: mine})
}
