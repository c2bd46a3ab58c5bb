package main

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	"kviz/tui/class/page"
	"kviz/tui/panes"
)

// classPage is the page of a class in this process.
type classPage struct {
	listen string // its address; "" for none
	page   *page.Page
	at     net.Addr
}

// serve serves the page until it is closed.
func (p *classPage) serve(r *classroom) error {
	if p.listen == "" {
		return nil
	}
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	lang := ""
	if l := r.lesson; l != nil && l.Translated != nil {
		lang = l.Translated.Lang
	}
	p.at = l.Addr()
	join := r.join()
	if alone(r.listen) && !alone(p.listen) { // those who look on from elsewhere cannot come in there
		join = ""
	}
	p.page = page.New(page.Config{
		Lead: r.lead, Room: r.room, Door: r.door, Panes: panes.All, Teacher: r.teacher, Title: r.title, Lang: lang,
		Join: join, Limits: page.Limits{Viewers: r.limits.Visits},
		Changes: func() (scene, room <-chan struct{}) { return r.lead.Changed.Next(), r.room.Changed.Next() },
	})
	return p.page.Serve(l)
}

// close says on the page that the class is over.
func (p *classPage) close() error {
	if p.page == nil {
		return nil
	}
	return p.page.Close()
}

// url is what students type into a browser; "" where there is no page.
func (p *classPage) url() string {
	tcp, ok := p.at.(*net.TCPAddr)
	if !ok {
		return ""
	}
	where := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		where = machine()
	}
	return "http://" + strings.TrimSuffix(net.JoinHostPort(where, fmt.Sprint(tcp.Port)), ":80")
}

// looking counts who looks on by the page; nil where there is none.
func (p *classPage) looking() func() int {
	if p.page == nil {
		return nil
	}
	return p.page.Looking
}

// alone reports whether an address can be reached from this machine only, as far as its text says so.
func alone(address string) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(cmp.Or(name, "0.0.0.0"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
