package door_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kviz/raftstore/steady"
	"kviz/tui/class/door"
)

// types answers what a door with a code asks.
func types(name, code, word string) func(string) string {
	return func(question string) string {
		switch {
		case strings.HasPrefix(question, "Name"):
			return name
		case strings.HasPrefix(question, "Code"):
			return code
		}
		return word
	}
}

// The code is asked for together with the name, and need not be typed exactly; a wrong one is refused in words.
func TestTheCode(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-fern-42"})
		var asked []string
		k := c.enter(as{user: "root", answer: func(q string) string {
			asked = append(asked, q)
			return types("Mira", " Plum  fern 42", "")(q)
		}})
		k.sees("hello Mira")
		if got := strings.Join(asked, "|"); got != "Name [root]: |Code: " {
			t.Errorf("asked %q", got)
		}
		k.leaves()
		k = c.enter(as{user: "bo", answer: types("", "plum-fern-42", "")})
		k.sees("hello bo")
		k.leaves()

		var banner strings.Builder
		if _, err := c.dial(as{user: "bo", answer: types("", "plum-fern-43", ""), banner: &banner}); err == nil || banner.String() != "That is not the code of this class.\r\n" {
			t.Errorf("a wrong code: %v, and the client reads %q", err, banner.String())
		}
		if _, err := c.dial(as{user: "bo"}); err == nil {
			t.Error("came in without a code")
		}
		c.mustTell("typed a wrong code")
		c.close()
	})
}

// Ten codes a minute may be tried from an address, over however many connections, and at the same time; then not even the
// right one is looked at. Others are not concerned.
func TestGuessingCodes(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-fern-42"})
		var all sync.WaitGroup
		var mu sync.Mutex
		said := map[string]int{}
		for i := range 30 {
			all.Go(func() {
				var banner strings.Builder
				_, err := c.dial(as{user: "eve", from: "10.0.0.4", answer: types("", fmt.Sprint("plum-fern-", 50+i), ""), banner: &banner})
				mu.Lock()
				defer mu.Unlock()
				if said[banner.String()]++; err == nil {
					t.Error("came in by a guess")
				}
			})
		}
		all.Wait()
		if len(said) != 2 || said["That is not the code of this class.\r\n"] != 10 || said["10 codes a minute may be tried from one address. Wait a minute.\r\n"] != 20 {
			t.Errorf("said %v", said)
		}
		right := as{user: "eve", from: "10.0.0.4", answer: types("", "plum-fern-42", "")}
		if _, err := c.dial(right); err == nil {
			t.Error("the guesses of this minute were over, and another one was looked at")
		}
		c.mustTell("guessed 10 codes within a minute")
		k := c.enter(as{user: "bo", from: "10.0.0.5", answer: types("", "plum-fern-42", "")})
		k.sees("hello bo")
		k.leaves()
		time.Sleep(time.Minute)
		k = c.enter(right)
		k.sees("hello eve")
		k.leaves()
		c.close()
	})
}

// Without a code only this machine comes in.
func TestOtherMachinesNeedACode(t *testing.T) {
	for addr, local := range map[string]bool{"127.0.0.1": true, "::1": true, "10.0.0.1": false, "0.0.0.0": false, "::": false} {
		for _, code := range []string{"", "plum-42"} {
			d, err := door.Open(door.Config{Host: host(echo), Key: signer(t, 1), Code: code})
			if err != nil {
				t.Fatal(err)
			}
			n := newNetwork()
			n.addr = &net.TCPAddr{IP: net.ParseIP(addr)}
			if err := d.Serve(n); (err == nil) != (local || code != "") {
				t.Errorf("at %s with the code %q: %v", addr, code, err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A code that is made is one that can be typed, and not the last one again.
func TestNewCodes(t *testing.T) {
	a, b := door.NewCode(), door.NewCode()
	if parts := strings.Split(a, "-"); len(parts) != 3 || len(parts[2]) != 2 || a == b {
		t.Errorf("made %q and %q", a, b)
	}
}

// The one who has a name by key gets it back, from anywhere and while the old connection still stands: the newer wins. Another
// one of that name has a number.
func TestTheSameKeyIsTheSamePerson(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-42"})
		mira := as{user: "mira", from: "10.0.0.1", key: signer(t, 2), answer: types("", "plum-42", "")}
		old := c.enter(mira)
		old.sees("hello mira 80x24")
		other := c.enter(as{user: "MIRA", from: "10.0.0.2", key: signer(t, 3), answer: types("", "plum-42", "")})
		other.sees("hello MIRA-2")
		mira.from = "10.0.0.3"
		again := c.enter(mira)
		old.sees("You came in again from another terminal")
		again.sees("hello mira 80x24")
		if status := old.over(); status != 1 {
			t.Errorf("the older ended with %d", status)
		}
		again.leaves()
		other.leaves()
		c.close()
	})
}

// The word of the first screen does the same without a key: in the SSH user, or when it is asked for.
func TestTheSameWordIsTheSamePerson(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		words := make(chan string, 4)
		c := open(t, door.Config{Code: "plum-42", Host: host(func(ctx ctx, v *door.Visit) error {
			words <- v.Word
			return echo(ctx, v)
		})})
		first := c.enter(as{user: "mira", from: "10.0.0.1", answer: types("", "plum-42", "")})
		first.sees("hello mira 80x24")
		word := <-words
		for _, again := range []as{
			{user: "mira+" + word, from: "10.0.0.2", answer: types("", "plum-42", "")},
			{user: "mira", from: "10.0.0.3", answer: types("", "plum-42", word)},
		} {
			k := c.enter(again)
			first.sees("You came in again")
			first.over()
			time.Sleep(time.Second) // until the door knows that the older has gone
			k.sees("hello mira 80x24")
			if got := <-words; got != word {
				t.Errorf("the word was %q and is %q", word, got)
			}
			first = k
		}
		var banner strings.Builder
		if _, err := c.dial(as{user: "mira", from: "10.0.0.4", answer: types("", "plum-42", "otter-00"), banner: &banner}); err == nil || !strings.Contains(banner.String(), "That is not the word of mira.") {
			t.Errorf("a wrong word: %v, %q", err, banner.String())
		}
		k := c.enter(as{user: "mira", from: "10.0.0.4", answer: types("", "plum-42", "")})
		k.sees("hello mira-2")
		k.leaves()
		first.leaves()
		c.close()
	})
}

// A connection that broke off is taken up from the same address, without a key or a word; by somebody else it is not.
func TestTheNetworkBreaksOff(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-42"})
		k := c.enter(as{user: "mira", from: "10.0.0.1", answer: types("", "plum-42", "")})
		k.sees("hello mira 80x24")
		k.ssh.Close()
		steady.Until(t, "the visit ends", func() bool { return len(k.ended) > 0 })
		time.Sleep(time.Second) // the door hears of it too
		other := c.enter(as{user: "mira", from: "10.0.0.2", answer: types("", "plum-42", "")})
		other.sees("hello mira-2")
		again := c.enter(as{user: "mira", from: "10.0.0.1", answer: types("", "plum-42", "")})
		again.sees("hello mira 80x24")
		again.leaves()
		other.leaves()
		c.close()
	})
}

// While one visit under a name is ending, one more may wait for it, and no third.
func TestTwoUnderOneName(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		leave := make(chan struct{})
		c := open(t, door.Config{Code: "plum-42", Host: host(func(ctx ctx, v *door.Visit) error {
			fmt.Fprintln(v.Out, "hello", v.Name)
			<-ctx.Done()
			<-leave // a host that is slow to go
			return nil
		})})
		mira := as{user: "mira", key: signer(t, 2), answer: types("", "plum-42", "")}
		first := c.enter(mira)
		first.sees("hello mira")
		second := c.enter(mira)
		third := c.enter(mira)
		third.sees("You are in twice already, as mira. Close one of those terminals first.")
		if status := third.over(); status != 1 {
			t.Errorf("the third ended with %d", status)
		}
		leave <- struct{}{}
		second.sees("hello mira")
		first.over()
		close(leave)
		c.close()
	})
}

// Reserved names, and those of nobody.
func TestNamesThatNobodyGets(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Reserved: []string{"ada"}})
		var in []*client
		for _, want := range [][2]string{{"ADA", "hello ADA-2 "}, {"\x1b[2J", "hello guest-1 "}, {"", "hello guest-2 "}} {
			k := c.enter(as{user: want[0]})
			k.sees(want[1])
			in = append(in, k)
		}
		for _, k := range in {
			k.leaves()
		}
		c.close()
	})
}

// A code that is typed elsewhere, as on the class's page, counts as one that is typed at the door.
func TestGuessesElsewhere(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{Code: "plum-fern-42"})
		if err := c.Try("10.0.0.4", " Plum fern 42 "); err != nil {
			t.Errorf("the code: %v", err)
		}
		for i := range 9 {
			if err := c.Try("10.0.0.4", fmt.Sprint("plum-fern-", 50+i)); !errors.Is(err, door.ErrWrongCode) {
				t.Errorf("guess %d: %v", i+1, err)
			}
		}
		c.mustTell("typed a wrong code on the page")
		var banner strings.Builder
		if _, err := c.dial(as{user: "eve", from: "10.0.0.4", answer: types("", "plum-fern-43", ""), banner: &banner}); err == nil {
			t.Error("came in by a guess")
		}
		if err := c.Try("10.0.0.4", "plum-fern-42"); !errors.Is(err, door.ErrGuesses) {
			t.Errorf("the guesses of this minute were over: %v", err)
		}
		if err := c.Try("10.0.0.5", "plum-fern-42"); err != nil {
			t.Errorf("from another address: %v", err)
		}
		c.close()
	})
}
