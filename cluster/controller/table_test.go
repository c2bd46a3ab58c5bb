package controller

import (
	"crypto"
	"crypto/x509"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/controller/nodeipam"
)

// DESIGN.md has a row for each of kube-controller-manager's controllers, with a package for
// those that run here and a reason for those that do not.
func TestTheTableOfControllersIsTrue(t *testing.T) {
	text, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## All of kube-controller-manager's")
	section, _, ends := strings.Cut(section, "\n## ")
	if !found || !ends {
		t.Fatal("DESIGN.md has no section with all controllers")
	}
	runs := map[string]bool{}
	for _, d := range all(Config{
		RootCA:     "PEM",
		Sign:       func(*x509.Certificate, crypto.PublicKey) ([]byte, error) { return nil, nil },
		SignToken:  func(*corev1.ServiceAccount, string) (string, error) { return "", nil },
		PodRanges:  nodeipam.Config{Cluster: netip.MustParsePrefix("10.244.0.0/16")},
		CheckTypes: func(*admissionv1.ValidatingAdmissionPolicy) []admissionv1.ExpressionWarning { return nil },
	}) {
		runs[d.name] = true
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z0-9-]+-controller) \| (\S+) \| ?(.*?) ?\|$`).FindAllStringSubmatch(section, -1)
	const upstreams = 49 // as NewControllerDescriptors registers
	if len(rows) != upstreams {
		t.Errorf("the table has %d controllers, and upstream %d", len(rows), upstreams)
	}
	listed := map[string]bool{}
	for _, row := range rows {
		name, here, why := row[1], row[2], row[3]
		listed[name] = true
		switch {
		case runs[name] && here == "–":
			t.Errorf("%s runs, and the table says that it does not: name its package", name)
		case !runs[name] && here != "–":
			t.Errorf("%s does not run, and the table says that it does", name)
		case !runs[name] && why == "":
			t.Errorf("%s does not run, and the table does not say why", name)
		}
	}
	for name := range runs {
		if !listed[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
}
