package registry

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"kviz/cluster/nearest"
)

// wellKnown are the registries that most images come from. A name one slip away from one
// of them is a typing mistake and does not resolve.
var wellKnown = []string{
	"docker.io", "index.docker.io", "registry-1.docker.io", "registry.k8s.io", "k8s.gcr.io", "gcr.io", "eu.gcr.io", "us.gcr.io", "asia.gcr.io",
	"mirror.gcr.io", "marketplace.gcr.io", "us-docker.pkg.dev", "europe-docker.pkg.dev", "asia-docker.pkg.dev", "quay.io", "ghcr.io", "lscr.io", "icr.io",
	"us.icr.io", "uk.icr.io", "de.icr.io", "cgr.dev", "dhi.io", "nvcr.io", "xpkg.io", "mcr.microsoft.com", "public.ecr.aws", "registry.gitlab.com",
	"registry.redhat.io", "registry.access.redhat.com", "registry.opensource.zalan.do", "docker.elastic.co", "registry.suse.com",
	"container-registry.oracle.com", "registry.digitalocean.com", "cr.l5d.io", "cr.weaviate.io",
}

// reserved are the names that RFC 2606 and RFC 6761 keep out of the public DNS, and with
// each everything below it. Top-level domains that do not exist need no row.
var reserved = []string{"example", "invalid", "local", "localhost", "test", "onion", "internal", "home.arpa", "example.com", "example.net", "example.org"}

// dial is why no connection to a registry comes about, as Go's net package says it, and
// the scheme that containerd tries it with; why is "" if the registry answers. A public
// name resolves; a name that only one network knows does not, nor does anything listen
// at a bare address or at a node's own localhost.
func dial(domain string) (scheme, why string, timeout bool) {
	host, port := split(domain)
	scheme = "https"
	if ip, err := netip.ParseAddr(host); err == nil {
		at := host + ":" + port
		if ip.Is6() {
			at = "[" + host + "]:" + port
		}
		if ip.IsLoopback() {
			return plainHTTP(port), "dial tcp " + at + ": connect: connection refused", false
		}
		return scheme, "dial tcp " + at + ": i/o timeout", true
	}
	if host == "localhost" {
		return plainHTTP(port), "dial tcp [::1]:" + port + ": connect: connection refused", false
	}
	if !resolves(host) {
		return scheme, "dial tcp: lookup " + host + ": no such host", false
	}
	return scheme, "", false
}

// split takes a registry's domain, as references name it, into host and port.
func split(domain string) (host, port string) {
	host, port = domain, "443"
	if at := strings.LastIndexByte(domain, ':'); at > strings.LastIndexByte(domain, ']') {
		host, port = domain[:at], domain[at+1:]
	}
	return strings.Trim(host, "[]"), port
}

// plainHTTP is the scheme that containerd ends with for a registry on the node itself: it
// tries HTTP after HTTPS, but not on the port of HTTPS (core/remotes/docker HTTPFallback).
func plainHTTP(port string) string {
	if port == "443" {
		return "https"
	}
	return "http"
}

// resolves reports whether the public DNS has a name, as far as its form tells: a domain
// that somebody can register, or a name below one.
func resolves(host string) bool {
	host = strings.ToLower(host)
	if len(host) > 253 || !isName(host) {
		return false
	}
	for _, r := range reserved {
		if host == r || strings.HasSuffix(host, "."+r) {
			return false
		}
	}
	top := host[strings.LastIndexByte(host, '.')+1:]
	if suffix, icann := publicsuffix.PublicSuffix(top); !icann || suffix != top {
		return false // no such top-level domain
	}
	if suffix, icann := publicsuffix.PublicSuffix(host); icann && suffix == host {
		return false // "co.uk": a domain below which names are registered
	}
	return !nearest.Slip(host, wellKnown)
}

// isName reports whether a host name has the form of one (RFC 1123), with a dot.
func isName(host string) bool {
	if !strings.Contains(host, ".") {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
				return false
			}
		}
	}
	return true
}

// endpoint is the host that serves a registry's API.
func endpoint(domain string) string {
	if domain == "docker.io" || domain == "index.docker.io" {
		return "registry-1.docker.io"
	}
	return domain
}
