package runtime

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sort"
	"time"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Answer is how a container answered a connection.
type Answer struct {
	Accepted bool // something listens; else the connection is refused
	Hung     bool // nothing comes back
	Code     int  // HTTP status
	Body     string
	Pod      string // namespace/name
	UID      string
	By       trace.ID // the event that started the container
	Program  Program  // of an image that has one: it takes the request from here

	ask func(method, path string) Answer // has the same port answer a request
}

// Serve has what listens at the other end of the connection answer a request. An error
// is that of a connection which broke.
func (a Answer) Serve(t *sim.Task, req *remote.Request) (remote.Answer, error) {
	if a.ask == nil {
		return remote.Answer{}, io.EOF
	}
	now := a.ask(req.Method, req.Path)
	switch {
	case !now.Accepted:
		return remote.Answer{}, io.EOF
	case now.Hung:
		var never sim.Cond
		never.Wait(t)
	case now.Program != nil:
		return now.Program.Serve(t, req)
	}
	return remote.Answer{Code: now.Code, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: []byte(now.Body), Event: now.By}, nil
}

// TLS reports whether what listens there speaks HTTPS.
func (a Answer) TLS() bool {
	p, ok := a.Program.(live)
	if !ok {
		return false
	}
	_, insecure := p.run.program.(Insecure)
	return !insecure
}

// Has reports whether an address belongs to a sandbox of this node.
func (r *Runtime) Has(ip string) bool { _, ok := r.byIP[ip]; return ok }

// PodAt gives the pod that has an address: "namespace/name".
func (r *Runtime) PodAt(ip string) (string, bool) {
	s := r.byIP[ip]
	if s == nil {
		return "", false
	}
	return s.key(), true
}

// AddressOf gives a pod's address.
func (r *Runtime) AddressOf(namespace, name string) (string, bool) {
	for _, s := range r.sortedSandboxes() {
		if s.Namespace == namespace && s.Name == name && s.Ready {
			return s.IP, true
		}
	}
	return "", false
}

// Connect is a connection that reached an address of this node, pod's or host's, and a GET
// of a path. path "" only connects, as a TCP probe does.
func (r *Runtime) Connect(ip string, port int, path string) Answer {
	s := r.byIP[ip]
	if s != nil {
		return r.connect(s, port, http.MethodGet, path)
	}
	for _, s := range r.sortedSandboxes() { // pods on the host's network
		if s.HostNetwork && s.IP == ip && s.Ready {
			if a := r.connect(s, port, http.MethodGet, path); a.Accepted {
				return a
			}
		}
	}
	return Answer{}
}

func (r *Runtime) connect(s *Sandbox, port int, method, path string) Answer {
	for _, c := range r.pod(s.PodUID).containers {
		if c.SandboxID != s.ID || c.State != Running || !c.listens(port, r.k.Now()) {
			continue
		}
		b := &c.run.b
		a := Answer{ask: func(method, path string) Answer { return r.connect(s, port, method, path) }, Accepted: true, Hung: b.Hang, Pod: s.key(), UID: s.PodUID, By: c.StartedBy, Code: 200, Body: b.Text}
		if c.run.program != nil {
			a.Program = live{r, c, c.run}
		}
		switch {
		case b.Named:
			a.Body = s.Hostname
		case b.Files:
			a.Code, a.Body = c.run.disk.serve(path)
		case a.Body == "":
			a.Body = "hello from " + s.Name + "\n"
		default:
			a.Body += "\n"
		}
		for _, f := range b.Fails {
			if (f.Path == "" || f.Path == path) && during(f.After, f.For, r.k.Now().Sub(c.StartedAt)) {
				a.Code, a.Body = f.Code, "internal server error\n"
			}
		}
		if path != "" && b.Burn > 0 { // seen as what it comes to on average until the next figure
			c.run.use(int64(b.Burn)/int64(usageStep/time.Second), 0, r.k.Now(), usageStep)
		}
		if path != "" && c.run.program == nil { // a program logs what it wants to
			c.log.write(r.k.Now(), fmt.Sprintf("%q %d %d\n", method+" "+path+" HTTP/1.1", a.Code, len(a.Body)), false)
		}
		return a
	}
	return Answer{}
}

func during(after, for_, now time.Duration) bool {
	return now >= after && (for_ == 0 || now < after+for_)
}

func (c *Container) listens(port int, now time.Time) bool {
	if now.Sub(c.StartedAt) < c.run.b.Start {
		return false
	}
	for _, p := range c.run.serves {
		if p == port {
			return true
		}
	}
	return false
}

// Listening lists the ports on which a pod's containers listen now.
func (r *Runtime) Listening(namespace, name string) []int {
	var ports []int
	for _, s := range r.sortedSandboxes() {
		if s.Namespace != namespace || s.Name != name || !s.Ready {
			continue
		}
		for _, c := range r.pod(s.PodUID).containers {
			if c.SandboxID == s.ID && c.State == Running && r.k.Now().Sub(c.StartedAt) >= c.run.b.Start {
				ports = append(ports, c.run.serves...)
			}
		}
	}
	sort.Ints(ports)
	return ports
}

// files are what a container finds on its disk when it starts.
func (r *Runtime) files(c *Container, s *Sandbox) map[string]string {
	f := map[string]string{
		"/etc/hostname": s.Hostname + "\n",
		"/etc/hosts":    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n" + s.IP + "\t" + s.Hostname + "\n",
		"/etc/resolv.conf": "search " + s.Namespace + ".svc.cluster.local svc.cluster.local cluster.local\n" +
			"nameserver 10.96.0.10\noptions ndots:5\n",
	}
	if c.repository() == agnhost {
		f["/localhost.crt"], f["/localhost.key"] = "the certificate of localhost\n", "the key of localhost\n"
	}
	maps.Copy(f, r.mounted(c))
	for path := range c.OnRead {
		f[path] = "" // to be found; read fills it
	}
	return f
}

// OnRead says who fills the files that are filled when something reads them. The
// error says why one cannot be.
func (r *Runtime) OnRead(fill func(t *sim.Task, podUID string, f File) (string, error)) {
	r.fill = fill
}

// errNoFile is ENOENT.
var errNoFile = errors.New("No such file or directory") //nolint:staticcheck // the C library's words

// read is what stands in a file of the container.
func (sh *shell) read(path string) (string, error) {
	text, there := sh.disk().read(path)
	if !there {
		return "", errNoFile
	}
	if f, later := sh.c.OnRead[path]; later && sh.r.fill != nil {
		return sh.r.fill(sh.t, sh.s.PodUID, f)
	}
	return text, nil
}
