package authz

import (
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"
	"k8s.io/utils/clock"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// File is where the AuthorizationConfiguration is that --authorization-config names.
const File = "/etc/kubernetes/authorization.yaml"

// Chain is a row of authorizers as a file has it; without a file it is Node, RBAC.
// The first that allows or denies decides (apiserver pkg/authorization/union).
type Chain struct {
	links []link
	types sets.Set[string] // but for webhooks: a file that is taken up later must have them all
}

// link is one authorizer. Its opinion is allow, deny or neither.
type link struct {
	name string
	ask  func(t *sim.Task, a *Attributes) opinion
}

type opinion struct {
	Decision
	denied   bool
	err      error
	answered trace.ID // by a server that was asked
}

// Files are what an AuthorizationConfiguration refers to: where a kubeconfig leads.
type Files func(kubeconfig string) (address string, err error)

// ReadChain reads an AuthorizationConfiguration, and says each authorizer in a line
// (pkg/kubeapiserver/authorizer LoadAndValidateData, newForConfig).
func ReadChain(file []byte, builtin *Authorizer, client *webhook.Client, clock clock.PassiveClock, at Files) (*Chain, []string, error) {
	cfg, err := load.LoadFromData(file)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to load AuthorizationConfiguration from file: %w", err)
	}
	b := &builder{builtin, client, clock, at, authorizationcel.NewDefaultCompiler()}
	if err := b.validate(cfg); err != nil {
		return nil, nil, err
	}
	out := &Chain{types: sets.New[string]()}
	var lines []string
	for i := range cfg.Authorizers {
		a := &cfg.Authorizers[i]
		if a.Type != apiserver.TypeWebhook {
			out.types.Insert(string(a.Type))
		}
		l, line, err := b.link(a)
		if err != nil {
			return nil, nil, err
		}
		out.links = append(out.links, l)
		lines = append(lines, line)
	}
	return out, lines, nil
}

// MayFollow says why a chain cannot be taken up by a server that runs with another.
func (ch *Chain) MayFollow(was *Chain) error {
	if missing := was.types.Difference(ch.types); missing.Len() > 0 {
		return fmt.Errorf("missing required types: %v", sets.List(missing))
	}
	if more := ch.types.Difference(was.types).Intersection(sets.New(modes.ModeNode, modes.ModeRBAC)); more.Len() > 0 {
		return fmt.Errorf("authorizer type %s is not allowed if it was not enabled at initial server startup", sets.List(more)[0])
	}
	return nil
}

// builder makes the links of a chain.
type builder struct {
	builtin  *Authorizer
	client   *webhook.Client
	clock    clock.PassiveClock
	files    Files
	compiler authorizationcel.Compiler
}

// validate is upstream's validation, which looks for kubeconfigs on
// the disk; here they are on the simulated machine.
func (b *builder) validate(cfg *apiserver.AuthorizationConfiguration) error {
	checked := cfg.DeepCopy()
	var errs field.ErrorList
	for i := range checked.Authorizers {
		w := checked.Authorizers[i].Webhook
		if w == nil || w.ConnectionInfo.Type != apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile || w.ConnectionInfo.KubeConfigFile == nil || !strings.HasPrefix(*w.ConnectionInfo.KubeConfigFile, "/") {
			continue
		}
		path := *w.ConnectionInfo.KubeConfigFile
		if _, err := b.files(path); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("authorizers").Index(i).Child("connectionInfo", "kubeConfigFile"), path, "error loading file: "+err.Error()))
		}
		w.ConnectionInfo = apiserver.WebhookConnectionInfo{Type: apiserver.AuthorizationWebhookConnectionInfoTypeInCluster}
	}
	errs = append(validation.ValidateAuthorizationConfiguration(b.compiler, nil, checked, sets.New(modes.AuthorizationModeChoices...), sets.New(modes.ModeWebhook)), errs...)
	if err := errs.ToAggregate(); err != nil {
		return err
	}
	var names []error
	for _, a := range cfg.Authorizers {
		if want := strings.ToLower(string(a.Type)); a.Type != apiserver.TypeWebhook && a.Name != want {
			names = append(names, fmt.Errorf("expected name %s for authorizer %s instead of %s", want, a.Type, a.Name))
		}
	}
	return utilerrors.NewAggregate(names)
}

func (b *builder) link(a *apiserver.AuthorizerConfiguration) (link, string, error) {
	l := link{name: a.Name}
	switch string(a.Type) {
	case modes.ModeNode:
		l.ask = func(_ *sim.Task, a *Attributes) opinion { return opinion{Decision: b.builtin.DecideNode(a)} }
		return l, "node: what every kubelet may do", nil
	case modes.ModeRBAC:
		l.ask = func(_ *sim.Task, a *Attributes) opinion { return opinion{Decision: b.builtin.DecideRBAC(a)} }
		return l, "rbac: roles and their bindings", nil
	case modes.ModeAlwaysAllow:
		l.ask = func(*sim.Task, *Attributes) opinion {
			return opinion{Decision: Decision{Allowed: true, By: a.Name, Reason: "The authorizer alwaysallow allows everything."}}
		}
		return l, "alwaysallow: everything", nil
	case modes.ModeAlwaysDeny:
		l.ask = func(*sim.Task, *Attributes) opinion {
			return opinion{Decision: Decision{Why: "Everything is forbidden."}}
		}
		return l, "alwaysdeny: nothing", nil
	case modes.ModeWebhook:
		return b.webhookLink(a)
	}
	return l, "", fmt.Errorf("authorizer %s: there is no --authorization-policy-file on the API server's machine", a.Type)
}

// privileged is the authorizer that comes before all others, whatever the file says.
const privileged = "kubernetes.io/system-privileged-group"

// decide asks the authorizers of the chain in turn.
func (ch *Chain) decide(t *sim.Task, a *Attributes) Decision {
	if d, ok := DecideMasters(a); ok {
		d.Asked = []string{privileged + ": allows it"}
		return d
	}
	var asked, reasons []string // reasons under their authors' names
	var errs []error
	var answered trace.ID
	for _, l := range ch.links {
		o := l.ask(t, a)
		if !o.answered.IsZero() {
			answered = o.answered
			t.SetCauses(answered)
		}
		asked = append(asked, l.name+": "+o.says())
		if o.err != nil {
			errs = append(errs, o.err)
		}
		reasons = append(reasons, l.name, o.Why)
		if o.Allowed || o.denied {
			d := o.Decision
			d.Forbidden, d.Err, d.Asked, d.Answered = o.denied, o.err, asked, answered
			if o.denied {
				d.By = l.name
			}
			return d
		}
	}
	return Decision{Why: Reasons(reasons...), Err: utilerrors.NewAggregate(errs), Asked: slices.Clip(asked), Answered: answered}
}

// says is an opinion as text.
func (o *opinion) says() string {
	tail := func(s, why string) string {
		if why != "" {
			s += ", " + why
		}
		return s
	}
	switch {
	case o.err != nil && o.denied:
		return "denies it: " + o.err.Error()
	case o.err != nil:
		return "no opinion: " + o.err.Error()
	case o.denied:
		return tail("denies it", o.Reason)
	case o.Allowed:
		return "allows it"
	case o.Reason != "":
		return tail("no opinion", o.Reason)
	}
	return tail("no opinion", o.Why)
}

// Authorizers are those of a server: Node and RBAC, or the chain that a file configures.
type Authorizers struct {
	*Authorizer
	Chain *Chain // nil without a file
}

// Decide is [Decider].
func (a *Authorizers) Decide(r *request.Scope, at Attributes) Decision {
	if a.Chain == nil {
		return a.Authorizer.Decide(at)
	}
	d := a.Chain.decide(r.Ask(), &at)
	r.Hear(d.Answered)
	return d
}

// DecideFor is Decide of somebody whose request passes no stages.
func (a *Authorizers) DecideFor(t *sim.Task, at Attributes) Decision {
	if a.Chain == nil {
		return a.Authorizer.Decide(at)
	}
	return a.Chain.decide(t, &at)
}
