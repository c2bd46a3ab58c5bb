package door

import (
	"errors"
	"fmt"

	gossh "golang.org/x/crypto/ssh"
)

// maxAuthTries is how many times a connection may fail to say who it is.
const maxAuthTries = 4

// admission is how a connection says who it is. By the owner's socket, and at a door without a code, the SSH user
// is enough. Else the name and the code are asked for, after the client has shown that it has a key, if it has
// one: the key lets nobody in, but tells later that a visitor is the same.
func (d *Door) admission(c *caller) *gossh.ServerConfig {
	config := &gossh.ServerConfig{MaxAuthTries: maxAuthTries}
	if c.owner || d.cfg.Code == "" {
		config.NoClientAuth = true
		config.NoClientAuthCallback = func(m gossh.ConnMetadata) (*gossh.Permissions, error) {
			name, word := splitUser(m.User())
			if c.owner {
				c.user = m.User()
				return nil, d.letIn(c, nil, "")
			}
			if word != "" && d.guess(c, d.names.knows(name, word), "") != nil {
				word = "" // then it is another one of that name
			}
			return nil, d.welcome(c, name, "", word)
		}
		return config
	}
	config.KeyboardInteractiveCallback = d.asks(c, "")
	config.PublicKeyCallback = func(_ gossh.ConnMetadata, key gossh.PublicKey) (*gossh.Permissions, error) {
		next := gossh.ServerAuthCallbacks{KeyboardInteractiveCallback: d.asks(c, gossh.FingerprintSHA256(key))}
		return nil, &gossh.PartialSuccessError{Next: next}
	}
	return config
}

// welcome gives a caller a name and a seat.
func (d *Door) welcome(c *caller, name, key, word string) error {
	cl, no := d.names.take(name, key, word, c)
	err := d.letIn(c, cl, no)
	if err != nil && cl != nil {
		cl.leave(c)
	}
	return err
}

type askFor func(gossh.ConnMetadata, gossh.KeyboardInteractiveChallenge) (*gossh.Permissions, error)

// asks is the dialogue at a door with a code. A key is what the client has shown to have.
func (d *Door) asks(c *caller, key string) askFor {
	return func(m gossh.ConnMetadata, challenge gossh.KeyboardInteractiveChallenge) (*gossh.Permissions, error) {
		name, word := splitUser(m.User())
		answers, err := challenge("", "", []string{fmt.Sprintf("Name [%s]: ", numbered(Clean(name), 1)), "Code: "}, []bool{true, true})
		if err != nil {
			return nil, err
		}
		if len(answers) != 2 {
			return nil, errors.New("asked for a name and a code")
		}
		if answers[0] != "" {
			name = answers[0]
		}
		if err := d.guess(c, sameCode(answers[1], d.cfg.Code), wrongCode); err != nil {
			return nil, err
		}
		if word == "" && d.names.taken(name, key, c.addr) {
			ask := fmt.Sprintf("%s is in this class already. If that is you, type the word that your first screen showed; else press enter: ", Clean(name))
			answers, err := challenge("", "", []string{ask}, []bool{true})
			if err != nil {
				return nil, err
			}
			if len(answers) == 1 {
				word = plainCode(answers[0])
			}
		}
		if word != "" {
			right := d.names.knows(name, word)
			if err := d.guess(c, right, "That is not the word of "+Clean(name)+"."); err != nil {
				return nil, err
			}
		}
		return nil, d.welcome(c, name, key, word)
	}
}

// guess counts what was typed, and says so if it was wrong or one too many.
func (d *Door) guess(c *caller, right bool, wrong string) error {
	says, noted := d.count(c.addr, right, wrong)
	if noted != "" {
		c.refused(noted)
	}
	if says == "" {
		return nil
	}
	return &gossh.BannerError{Err: errors.New(says), Message: says + "\r\n"}
}

// count counts a guess from an address: what is to be said of it, "" if it was right, and what the teacher is to see of it.
func (d *Door) count(addr string, right bool, wrong string) (says, noted string) {
	switch left := d.guesses.try(addr); {
	case left < 0:
		return tooManyGuesses, ""
	case right:
		d.guesses.right(addr)
		return "", ""
	case left == 0:
		return wrong, fmt.Sprintf("guessed %d codes within a minute", triesPerMinute)
	}
	return wrong, "typed a wrong code"
}

const wrongCode = "That is not the code of this class."

var tooManyGuesses = fmt.Sprintf("%d codes a minute may be tried from one address. Wait a minute.", triesPerMinute)

// Errors of [Door.Try], in words for the one who typed.
var (
	ErrWrongCode = errors.New(wrongCode)
	ErrGuesses   = errors.New(tooManyGuesses)
)

// Try is a code that somebody has typed elsewhere than at the door, as on the class's page: nil if it is the door's. It is
// counted with those that were typed at the door from the same address.
func (d *Door) Try(addr, code string) error {
	says, noted := d.count(addr, sameCode(code, d.cfg.Code), wrongCode)
	if noted != "" {
		d.refusals.add(Refusal{Addr: addr, What: noted + " on the page"})
	}
	switch says {
	case "":
		return nil
	case wrongCode:
		return ErrWrongCode
	}
	return ErrGuesses
}

// Code is what the door asks for; "" if it lets everybody in.
func (d *Door) Code() string { return d.cfg.Code }
