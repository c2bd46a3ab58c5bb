package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/trace"
)

// A client over a real connection that reads nothing of its watch: when the
// connection's buffers are full, and more events wait than the watcher's own buffer
// holds, the server stops waiting and ends the watch. Another client gets each event
// all the while, before the next is written. The slow one, when it reads at last, gets
// whole events, in order and none twice, and then the end of the answer.
func TestWatchOfAClientThatReadsNothing(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(1000) })
	l, err := e.h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	watchAs := func(client string, receive int) io.ReadCloser {
		t.Helper()
		cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		cfg.UserAgent, cfg.NextProtos = client, []string{"http/1.1"}
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok && receive > 0 {
				err = tcp.SetReadBuffer(receive)
			}
			return conn, err
		}
		c, err := rest.HTTPClientFor(cfg)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Get(l.URL + "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1000000") // of virtual time, which flies
		if err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 1 {
			t.Fatal(resp, err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.Body
	}
	slow := watchAs("slow", 64<<10)
	quick := json.NewDecoder(watchAs("quick", 0))

	// next reads events until that of a value, which must come.
	read := 0
	next := func(from *json.Decoder, value string) {
		t.Helper()
		for {
			var event struct {
				Type   string
				Object corev1.ConfigMap
			}
			if err := from.Decode(&event); err != nil {
				t.Fatalf("before value %s: %v", value, err)
			}
			if read++; event.Object.Data["n"] == value {
				return
			}
		}
	}
	seen := uint64(0)
	ended := func() *trace.Watch {
		events, to, _ := e.stream.Read(seen, int(e.stream.Len()-seen))
		seen = to
		for _, event := range events {
			if p, ok := event.Payload.(*trace.Watch); ok && event.Kind == trace.WatchClosed {
				return p
			}
		}
		return nil
	}
	write := func(method, path, value, text string) {
		t.Helper()
		resp := e.do(t, method, "/api/v1/namespaces/default/configmaps"+path, fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"n":%q,"text":%q}}`, value, text))
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode >= 300 {
			t.Fatal(resp.Status, err)
		}
	}
	// Large values until the connection surely holds no more, then small ones until the
	// end: it comes after the machine's own time.
	const large, most = 24, 1 << 14
	filler := strings.Repeat("0123456789abcdef", 32<<10)
	var end *trace.Watch
	written := 0
	for ; end == nil && written < most; written++ {
		method, path, text := "PUT", "/a", ""
		if written == 0 {
			method, path = "POST", ""
		}
		if written < large {
			text = filler
		}
		write(method, path, fmt.Sprint(written), text)
		next(quick, fmt.Sprint(written))
		end = ended()
	}
	if end == nil {
		t.Fatalf("after %d writes the watch of the client that reads nothing goes on", written)
	}
	if !strings.Contains(end.Client, "slow") || !strings.Contains(end.Reason, "the client was too slow") {
		t.Errorf("ended: %s: %s", end.Client, end.Reason)
	}
	write("PUT", "/a", "after", "")
	next(quick, "after")
	if read != written+1 {
		t.Errorf("the other client has read %d events of %d writes", read, written)
	}

	got, late := 0, json.NewDecoder(slow)
	for {
		var event struct {
			Type   string
			Object corev1.ConfigMap
		}
		err := late.Decode(&event)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %d events: %v", got, err)
		}
		if event.Object.Data["n"] == "after" {
			t.Error("an event came after the end of the watch")
		}
		if event.Object.Data["n"] == fmt.Sprint(got) {
			got++
		}
	}
	if got < large || got > written {
		t.Errorf("the slow client got %d events in order of %d", got, written)
	}
}
