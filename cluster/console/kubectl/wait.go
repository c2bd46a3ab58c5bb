package kubectl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/console/command"
)

// This file has the kubectl commands that wait. Each runs in its check-once
// form, and again whenever something has changed, until what it waits for has
// come or its time (virtual) is over.

// check runs look until it is done. look gives done and the exit status.
func (k *run) check(ctx context.Context, limit time.Duration, resources []string, look func() (done bool, exit int)) (exit int, timedOut bool) {
	w, err := k.inv.Kernel.Changes(ctx, k.inv.Cause, k.inv.LimitOf(limit), command.ChangeOf(resources...))
	if err != nil {
		fmt.Fprintf(k.inv.Err, "error: %v\n", err)
		return 1, false
	}
	defer w.Close()
	for {
		done, exit := look()
		if done {
			return exit, false
		}
		switch err := w.Next(ctx); {
		case errors.Is(err, command.ErrLimit):
			return 1, true
		case err != nil:
			fmt.Fprintf(k.inv.Err, "error: %v\n", err)
			return 1, false
		}
	}
}

// rolloutStatus prints each new state of a rollout until it is done.
func (k *run) rolloutStatus(ctx context.Context, args []string, flags *parsed) int {
	once := with(without(args, map[string]bool{"-w": false, "--watch": false, "--timeout": true}), "--watch=false")
	var said []byte
	exit, timedOut := k.check(ctx, flags.timeout("timeout"), k.resourcesOf(flags.args), func() (bool, int) {
		r := k.once(once)
		if !bytes.Equal(r.out, said) {
			_, _ = k.inv.Out.Write(r.out)
			said = r.out
		}
		waiting := r.exit == 0 && strings.Contains(string(r.out), "Waiting for ")
		if !waiting {
			_, _ = k.inv.Err.Write(r.errOut)
		}
		return !waiting, r.exit
	})
	if timedOut {
		fmt.Fprintln(k.inv.Err, "error: timed out waiting for the condition")
	}
	return exit
}

// resourcesOf are the resources that "deployment/web" or "deploy web" names, as discovery
// has them; nil (all) where they are not told, or not known.
func (k *run) resourcesOf(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	mapper, err := configFlags(k.cache, k.kubectl.Namespace(), k.transport).ToRESTMapper()
	if err != nil {
		return nil
	}
	var found []string
	for i, w := range words {
		kind, _, slash := strings.Cut(w, "/")
		if !slash && i > 0 {
			break
		}
		for _, one := range strings.Split(kind, ",") {
			_, gr := schema.ParseResourceArg(strings.ToLower(one))
			if gr.Resource == "" {
				gr = schema.ParseGroupResource(strings.ToLower(one))
			}
			gvr, err := mapper.ResourceFor(gr.WithVersion(""))
			if err != nil {
				return nil
			}
			found = append(found, gvr.Resource)
		}
	}
	return found
}

// wait is kubectl wait. What it prints is what the run that succeeded printed.
func (k *run) wait(ctx context.Context, args []string, flags *parsed) int {
	limit := flags.timeout("timeout")
	if limit < 0 {
		limit = 168 * time.Hour // as kubectl: a week
	}
	bare := without(args, map[string]bool{"--timeout": true})
	if limit == 0 && flags.set("timeout") {
		return k.print(k.once(with(bare, "--timeout=0s")))
	}
	create := false
	for _, f := range flags.values("for") {
		create = create || strings.EqualFold(f, "create")
	}
	var last result
	exit, timedOut := k.check(ctx, limit, k.resourcesOf(flags.args), func() (bool, int) {
		if create && !k.exists(bare) {
			last = result{errOut: []byte("error: timed out waiting for the condition\n"), exit: 1}
			return false, 1
		}
		t := "--timeout=0s"
		if create { // with no time at all kubectl would not look for what is there
			t = "--timeout=1s"
		}
		last = k.once(with(bare, t))
		unmet := last.exit != 0 && (bytes.Contains(last.errOut, []byte("timed out waiting for the condition")) ||
			bytes.Contains(last.errOut, []byte("condition not met for")))
		return !unmet, last.exit
	})
	if timedOut {
		last.errOut = []byte(strings.ReplaceAll(string(last.errOut), "condition not met for", "timed out waiting for the condition on"))
	}
	k.print(last)
	return exit
}

// exists reports whether what a kubectl wait names is there.
func (k *run) exists(args []string) bool {
	get := append([]string{}, without(args, map[string]bool{"--for": true, "-o": true, "--output": true})...)
	for i, a := range get {
		if a == "wait" {
			get[i] = "get"
			break
		}
	}
	r := k.once(with(get, "-o", "name"))
	return r.exit == 0 && len(r.out) > 0
}

// delete deletes, and waits until what was deleted is gone.
func (k *run) delete(ctx context.Context, args []string, flags *parsed) int {
	once := with(without(args, map[string]bool{"--wait": false, "--timeout": true}), "--wait=false")
	if exit := k.print(k.once(once)); exit != 0 {
		return exit
	}
	left := k.transport.deleted
	if len(left) == 0 {
		return 0
	}
	exit, timedOut := k.check(ctx, flags.timeout("timeout"), nil, func() (bool, int) {
		for len(left) > 0 {
			gone, err := k.transport.gone(left[0])
			if err != nil {
				fmt.Fprintf(k.inv.Err, "error: %v\n", err)
				return true, 1
			}
			if !gone {
				return false, 1
			}
			left = left[1:]
		}
		return true, 0
	})
	if timedOut {
		parts := strings.Split(left[0].path, "/")
		fmt.Fprintf(k.inv.Err, "error: timed out waiting for the condition on %s/%s\n", parts[len(parts)-2], parts[len(parts)-1])
	}
	return exit
}

// replaceForce is replace --force: delete, wait until what was deleted is gone, create.
// kubectl looks again and again by the machine's clock; the first look is answered when
// there is nothing more to see.
func (k *run) replaceForce(ctx context.Context, args []string, flags *parsed) int {
	limit := flags.timeout("timeout")
	if limit <= 0 {
		limit = 5 * time.Minute // as kubectl
	}
	w, err := k.inv.Kernel.Changes(ctx, k.inv.Cause, limit, command.ChangeOf())
	if err != nil {
		fmt.Fprintf(k.inv.Err, "error: %v\n", err)
		return 1
	}
	defer w.Close()
	k.transport.untilGone = w
	return k.print(k.once(without(args, map[string]bool{"--timeout": true})))
}
