package servicecidr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/servicecidrs"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/sim"
)

// story is some ranges and addresses, of which some are deleted after a while.
type story struct {
	cidrs, goneCIDRs []*networkingv1.ServiceCIDR
	ips, goneIPs     []*networkingv1.IPAddress
}

func anyStory(r *rapid.T) (s story) {
	for i := range rapid.IntRange(1, 4).Draw(r, "ranges") {
		ranges := []string{rapid.SampledFrom([]string{"10.0.0.0/24", "10.0.0.0/28", "10.0.0.16/28", "10.0.1.0/24"}).Draw(r, "of")}
		if rapid.IntRange(0, 3).Draw(r, "families") == 0 {
			ranges = append(ranges, "fd00::/112")
		}
		s.cidrs = append(s.cidrs, cidr(fmt.Sprint("range-", i), ranges...))
		if rapid.Bool().Draw(r, "gone") {
			s.goneCIDRs = append(s.goneCIDRs, s.cidrs[i])
		}
	}
	for _, ip := range []string{"10.0.0.0", "10.0.0.1", "10.0.0.15", "10.0.0.16", "10.0.0.17", "10.0.1.255", "10.0.1.9", "fd00::5"} {
		switch rapid.IntRange(0, 4).Draw(r, ip) {
		case 0:
			s.ips = append(s.ips, address(ip, managedBy))
		case 1:
			s.ips = append(s.ips, address(ip, "gateway.example.com"))
		case 2:
			s.ips = append(s.ips, address(ip, managedBy))
			s.goneIPs = append(s.goneIPs, s.ips[len(s.ips)-1])
		}
	}
	return s
}

// text is how the ranges are.
func text(all []*networkingv1.ServiceCIDR) string {
	var lines []string
	for _, c := range all {
		line := fmt.Sprint(c.Name, " ", c.DeletionTimestamp != nil, " ", c.Finalizers)
		for _, is := range c.Status.Conditions {
			line += fmt.Sprintf(" %s=%s %q %q", is.Type, is.Status, is.Reason, is.Message)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Of any ranges and addresses, whatever of them is deleted, both controllers keep the same
// ranges and say the same of them.
func TestRangesAreUpstreams(tt *testing.T) {
	upstreamtest.Check(tt, "20", func(r *rapid.T) {
		s := anyStory(r)
		here, there := s.here(r), s.there(tt)
		if diff := cmp.Diff(strings.Split(there, "\n"), strings.Split(here, "\n")); diff != "" {
			r.Fatalf("-upstream +here:\n%s", diff)
		}
	})
}

// The pauses are longer than the grace period of a deletion. Deletions are apart, since of two
// ranges that go at once each may see the other still there.
const pause, apart = 30 * time.Second, 2 * time.Second

func (s story) here(r *rapid.T) (out string) {
	clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		look := func() {
			t.Sleep(pause)
			var all []*networkingv1.ServiceCIDR
			for _, o := range b.Objects(client.ServiceCIDRs) {
				all = append(all, o.(*networkingv1.ServiceCIDR))
			}
			out += text(all) + "\n---\n"
		}
		for _, o := range s.cidrs {
			clienttest.Must(client.Create(t, c, client.ServiceCIDRs, "", o.DeepCopy()))
		}
		for _, o := range s.ips {
			clienttest.Must(client.Create(t, c, client.IPAddresses, "", o.DeepCopy()))
		}
		start(b)
		look()
		for _, o := range s.goneCIDRs {
			clienttest.Must(0, c.Delete(t, client.ServiceCIDRs, "", o.Name, metav1.DeleteOptions{}))
			t.Sleep(apart)
		}
		look()
		for _, o := range s.goneIPs {
			clienttest.Must(0, c.Delete(t, client.IPAddresses, "", o.Name, metav1.DeleteOptions{}))
		}
		look()
	})
	return out
}

func (s story) there(t *testing.T) (out string) {
	var objs []runtime.Object
	for _, o := range s.cidrs {
		objs = append(objs, o.DeepCopy())
	}
	for _, o := range s.ips {
		objs = append(objs, o.DeepCopy())
	}
	upstreamtest.Bubble(t, objs, func(ctx context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		n := f.Networking().V1()
		controller := upstream.NewController(ctx, n.ServiceCIDRs(), n.IPAddresses(), c)
		return func(ctx context.Context) { controller.Run(ctx, 1) }
	}, func(ctx context.Context, c *fake.Clientset) {
		cidrs, ips := c.NetworkingV1().ServiceCIDRs(), c.NetworkingV1().IPAddresses()
		look := func() {
			time.Sleep(pause)
			var all []*networkingv1.ServiceCIDR
			list := clienttest.Must(cidrs.List(ctx, metav1.ListOptions{}))
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
			out += text(all) + "\n---\n"
		}
		look()
		for _, o := range s.goneCIDRs {
			is := clienttest.Must(cidrs.Get(ctx, o.Name, metav1.GetOptions{}))
			now := metav1.Now()
			is.DeletionTimestamp = &now
			clienttest.Must(cidrs.Update(ctx, is, metav1.UpdateOptions{}))
			time.Sleep(apart)
		}
		look()
		for _, o := range s.goneIPs {
			clienttest.Must(0, ips.Delete(ctx, o.Name, metav1.DeleteOptions{}))
		}
		look()
	})
	return out
}
