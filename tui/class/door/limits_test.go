package door_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"kviz/raftstore/steady"
	"kviz/tui/class/door"
	"kviz/tui/class/rehearsal"
)

// A window is no larger than can be drawn, however large a client says it is, and its changes arrive.
func TestWindows(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: host(func(ctx ctx, v *door.Visit) error {
			for {
				w, h := v.Size()
				fmt.Fprintf(v.Out, "%dx%d\n", w, h)
				select {
				case <-v.Resized():
				case <-ctx.Done():
					return nil
				}
			}
		})})
		for _, size := range []struct {
			width, height int
			drawn         string
		}{{80, 24, "80x24"}, {4_000_000_000, 4_000_000_000, "500x200"}, {0, 0, "80x24"}, {1, 1, "1x1"}, {501, 1, "500x1"}} {
			conn, err := c.dial(as{user: "mira"})
			if err != nil {
				t.Fatal(err)
			}
			k := terminal(t, conn, size.width, size.height)
			k.sees(size.drawn + "\r\n")
			if err := k.session.WindowChange(100, 4_294_967_295); err != nil {
				t.Fatal(err)
			}
			k.sees("500x100\r\n")
			k.ssh.Close()
			<-k.ended
			time.Sleep(time.Second)
		}
		c.close()
	})
}

// A client that reads nothing is dropped after ten seconds; what waits for it is bounded, and nobody else waits.
func TestAClientThatStopsReading(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		wrote := map[string]int{}
		over := make(chan error, 2)
		began := time.Now()
		c := open(t, door.Config{Host: host(func(ctx ctx, v *door.Visit) error {
			if v.Name != "deaf" {
				return echo(ctx, v)
			}
			for {
				n, err := v.Out.Write(bytes.Repeat([]byte("x"), 1000))
				if wrote[v.Name] += n; err != nil {
					over <- err
					return err
				}
			}
		})})
		conn, err := c.net.dial("10.0.0.9")
		if err != nil {
			t.Fatal(err)
		}
		line := rehearsal.NewLine(conn)
		ssh, err := handshake(line, as{user: "deaf"})
		if err != nil {
			t.Fatal(err)
		}
		k := terminal(t, ssh, 80, 24)
		k.sees("x")
		line.Deafen()
		mira := c.enter(as{user: "mira"})
		mira.sees("hello mira")
		mira.typed("one\r")
		mira.sees("one")
		if passed := time.Since(began); passed != 0 {
			t.Errorf("mira waited for %s", passed)
		}
		if err := <-over; err == nil {
			t.Error("the host of the one that reads nothing heard nothing")
		}
		if passed := time.Since(began); passed < 10*time.Second {
			t.Errorf("dropped after %s", passed)
		}
		c.mustTell("read nothing of its screen")
		k.ssh.Close()
		mira.leaves()
		c.close()
	})
}

// The end of the class waits for nobody who reads nothing, nor for a host that waits to draw.
func TestCloseWaitsForNobodyWhoReadsNothing(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: host(func(ctx ctx, v *door.Visit) error {
			for ctx.Err() == nil {
				if _, err := v.Out.Write(bytes.Repeat([]byte("x"), 1000)); err != nil {
					return err
				}
			}
			return nil
		})})
		conn, err := c.net.dial("10.0.0.9")
		if err != nil {
			t.Fatal(err)
		}
		line := rehearsal.NewLine(conn)
		ssh, err := handshake(line, as{user: "deaf"})
		if err != nil {
			t.Fatal(err)
		}
		k := terminal(t, ssh, 80, 24)
		k.sees("x")
		line.Deafen()
		time.Sleep(time.Second) // everything is full
		began := time.Now()
		c.close()
		if passed := time.Since(began); passed != 2*time.Second {
			t.Errorf("the end took %s", passed)
		}
		k.ssh.Close()
		<-k.ended
	})
}

// A slow client is no such client: it takes a little again and again, and is sent everything.
func TestASlowClient(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		text := strings.Repeat("0123456789", 20_000)
		c := open(t, door.Config{Host: host(func(_ ctx, v *door.Visit) error {
			_, err := io.WriteString(v.Out, text)
			return err
		})})
		conn, err := c.net.dial("10.0.0.9")
		if err != nil {
			t.Fatal(err)
		}
		line := rehearsal.NewLine(conn)
		line.Slow(20_000)
		ssh, err := handshake(line, as{user: "mira"})
		if err != nil {
			t.Fatal(err)
		}
		k := terminal(t, ssh, 80, 24)
		if status := k.over(); status != 0 || k.out.String() != text {
			t.Errorf("ended with %d after %d of %d bytes", status, len(k.out.String()), len(text))
		}
		c.close()
		time.Sleep(time.Second) // for the last look of the slow client
	})
}

// Somebody who does not say who he is, or opens no terminal, is not waited for.
func TestTheHandshakeEnds(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		began := time.Now()
		mute, err := c.net.dial("10.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(mute); err != nil {
			t.Fatal(err)
		}
		if passed := time.Since(began); passed != 90*time.Second {
			t.Errorf("waited for the handshake for %s", passed)
		}
		idler, err := c.dial(as{user: "mira"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := idler.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RequestPty("xterm", 24, 80, nil); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		idler.Wait()
		if passed := time.Since(began); passed != 90*time.Second {
			t.Errorf("waited for a terminal for %s", passed)
		}
		mute.Close()
		c.close()
	})
}

// A terminal is closed after six hours, and says why. Somebody who only looks on is there all that time.
func TestVisitsEnd(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		began := time.Now()
		quiet := c.enter(as{user: "quiet"})
		quiet.sees("hello")
		quiet.sees("This terminal was open for 6h0m0s, which is the most.")
		quiet.over()
		if passed := time.Since(began); passed != 6*time.Hour {
			t.Errorf("closed after %s", passed)
		}
		c.close()
	})
}

// A client that is not there any more (its machine sleeps, its network is gone) is asked after a minute, and dropped half a minute later.
func TestAClientThatDoesNotAnswer(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		left := make(chan time.Duration, 1)
		began := time.Now()
		c := open(t, door.Config{Host: host(func(ctx ctx, v *door.Visit) error {
			err := echo(ctx, v)
			left <- time.Since(began)
			return err
		})})
		conn, err := c.net.dial("10.0.0.9")
		if err != nil {
			t.Fatal(err)
		}
		line := rehearsal.NewLine(conn)
		ssh, err := handshake(line, as{user: "asleep"})
		if err != nil {
			t.Fatal(err)
		}
		k := terminal(t, ssh, 80, 24)
		k.sees("hello")
		line.Deafen()
		if passed := <-left; passed < 90*time.Second || passed > 3*time.Minute {
			t.Errorf("dropped after %s", passed)
		}
		c.mustTell("did not answer whether it is there")
		k.ssh.Close()
		<-k.ended
		c.close()
	})
}

// Beyond a hundred there is a sentence; each one that leaves makes room.
func TestAFullClass(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Limits: door.Limits{Visits: 3}})
		var in []*client
		for i := range 3 {
			k := c.enter(as{user: fmt.Sprint("s", i)})
			k.sees("hello")
			in = append(in, k)
		}
		k := c.enter(as{user: "late"})
		k.sees("There is no room left: 3 are in this class already.\r\n")
		if status := k.over(); status != 1 {
			t.Errorf("ended with %d", status)
		}
		c.mustTell("found no room")
		in[0].leaves()
		time.Sleep(time.Second)
		k = c.enter(as{user: "late"})
		k.sees("hello late")
		k.leaves()
		in[1].leaves()
		in[2].leaves()
		c.close()
	})
}

// A flood of connections that say nothing costs the address it comes from: the others still come in.
func TestAFloodOfConnections(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-42"})
		for range 500 {
			conn, err := c.net.dial("10.0.0.6")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		k := c.enter(as{user: "mira", from: "10.0.0.7", answer: types("", "plum-42", "")})
		k.sees("hello mira")
		c.mustTell("opened too many connections at once")
		if r := c.Refusals(); len(r) != 1 || r[0].Addr != "10.0.0.6" || r[0].Times < 400 {
			t.Errorf("the teacher was told %+v", r)
		}
		k.leaves()
		c.close()
	})
}

// A flood of requests, of channels or of keys ends the connection it comes over, in words where there is a terminal.
func TestFloodsOnOneConnection(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Host: host(func(ctx ctx, v *door.Visit) error {
			fmt.Fprintln(v.Out, "hello", v.Name)
			<-ctx.Done() // reads nothing
			return nil
		})})
		bo := c.enter(as{user: "bo"})
		bo.sees("hello bo")

		k := c.enter(as{user: "resizer"})
		k.sees("hello")
		for i := range 1000 {
			if k.session.WindowChange(24, i) != nil {
				break
			}
		}
		k.sees("Your terminal sent too many requests at once.")
		k.over()

		k = c.enter(as{user: "typist"})
		k.sees("hello")
		for range 100 {
			if _, err := k.in.Write(bytes.Repeat([]byte("y"), 8<<10)); err != nil {
				break
			}
		}
		k.sees("More was typed than could be read")
		k.over()

		k = c.enter(as{user: "dialer"})
		k.sees("hello")
		refused := 0
		for range 1000 {
			_, err := k.ssh.Dial("tcp", "10.0.0.1:22")
			var no *gossh.OpenChannelError
			if !errors.As(err, &no) {
				break
			}
			refused++
		}
		if refused > 100 {
			t.Errorf("%d channels were refused one by one", refused)
		}
		k.sees("too many requests")
		k.over()

		for _, what := range []string{"sent too many requests", "typed more than could be read"} {
			c.mustTell(what)
		}
		bo.ssh.Close()
		c.close()
	})
}

// What the teacher is told is bounded, and nobody fills it with repetitions.
func TestRefusalsAreBounded(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-42"})
		for i := range 300 {
			if _, err := c.dial(as{user: "eve", from: fmt.Sprint("10.0.0.", i%150), answer: types("", "x", "")}); err == nil {
				t.Fatal("came in")
			}
		}
		if n := len(c.Refusals()); n != 100 {
			t.Errorf("%d are kept", n)
		}
		c.close()
	})
}
