// Command generate copies the discovery and OpenAPI documents of the
// Kubernetes version in go.mod into the assets folder, in the form in which
// the API server serves them:
//
//	discovery/discovery.json    one APIGroupDiscoveryList with every group, the core group first
//	openapi/index.json          path below /openapi/v3 -> SHA-512 of the document
//	openapi/v3/NAME.json.zst    one document a group version, zstd
//	openapi/swagger.json.zst    OpenAPI v2, JSON
//	openapi/swagger.pb.zst      OpenAPI v2, protobuf, as kubectl asks for it
//
// Alpha and beta versions are left out: kviz serves none.
//
//	go run ./assets/generate -out assets
//
// Start reading at main.
package main

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("generate: ")
	out := flag.String("out", "assets", "the assets folder to write to")
	flag.Parse()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		log.Fatalf("finding the source of k8s.io/kubernetes: %v", err)
	}
	api := filepath.Join(strings.TrimSpace(string(dir)), "api")
	for _, step := range []func(api, out string) error{discovery, openAPIv3, openAPIv2} {
		if err := step(api, *out); err != nil {
			log.Fatal(err)
		}
	}
}

// discovery joins aggregated_v2.json (which has /apis only) and the core
// group, converted from its legacy form.
func discovery(api, out string) error {
	var list apidiscovery.APIGroupDiscoveryList
	if err := readJSON(filepath.Join(api, "discovery", "aggregated_v2.json"), &list); err != nil {
		return err
	}
	var core metav1.APIResourceList
	if err := readJSON(filepath.Join(api, "discovery", "api__v1.json"), &core); err != nil {
		return err
	}
	list.Items = append([]apidiscovery.APIGroupDiscovery{{
		Versions: []apidiscovery.APIVersionDiscovery{{
			Version: "v1", Resources: aggregate(core.APIResources, "", "v1"), Freshness: apidiscovery.DiscoveryFreshnessCurrent,
		}},
	}}, list.Items...)
	for i := range list.Items {
		stable := list.Items[i].Versions[:0]
		for _, v := range list.Items[i].Versions {
			if !preRelease.MatchString(v.Version) {
				stable = append(stable, v)
			}
		}
		list.Items[i].Versions = stable
	}
	b, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return write(filepath.Join(out, "discovery", "discovery.json"), b)
}

var preRelease = regexp.MustCompile(`^v\d+(alpha|beta)\d+$`)

// aggregate mirrors apiserver pkg/endpoints/installer.go
// ConvertGroupVersionIntoToDiscovery.
func aggregate(resources []metav1.APIResource, group, version string) []apidiscovery.APIResourceDiscovery {
	var all []apidiscovery.APIResourceDiscovery
	at := map[string]int{}
	for _, r := range resources {
		name, sub, isSub := strings.Cut(r.Name, "/")
		kind := &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if r.Group == "" && r.Version == "" {
			kind.Group, kind.Version = group, version
		}
		i, seen := at[name]
		if !seen {
			scope := apidiscovery.ScopeCluster
			if r.Namespaced {
				scope = apidiscovery.ScopeNamespace
			}
			i = len(all)
			at[name] = i
			all = append(all, apidiscovery.APIResourceDiscovery{Resource: name, Scope: scope})
		}
		if isSub {
			all[i].Subresources = append(all[i].Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: kind, Verbs: r.Verbs,
			})
			continue
		}
		all[i].ResponseKind, all[i].SingularResource, all[i].Verbs = kind, r.SingularName, r.Verbs
		all[i].ShortNames, all[i].Categories = r.ShortNames, r.Categories
	}
	return all
}

func openAPIv3(api, out string) error {
	src := filepath.Join(api, "openapi-spec", "v3")
	files, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(out, "openapi", "v3")); err != nil {
		return err
	}
	index := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), "_openapi.json")
		parts := strings.Split(name, "__")
		if (parts[0] != "api" && parts[0] != "apis" && name != "version") || preRelease.MatchString(parts[len(parts)-1]) {
			continue
		}
		doc, err := os.ReadFile(filepath.Join(src, f.Name()))
		if err != nil {
			return err
		}
		doc = compact(doc)
		index[strings.Join(parts, "/")] = fmt.Sprintf("%X", sha512.Sum512(doc))
		if err := write(filepath.Join(out, "openapi", "v3", name+".json.zst"), squeeze(doc)); err != nil {
			return err
		}
	}
	paths := make([]string, 0, len(index))
	for p := range index {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	log.Printf("OpenAPI v3: %d documents, %s … %s", len(paths), paths[0], paths[len(paths)-1])
	b, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return err
	}
	return write(filepath.Join(out, "openapi", "index.json"), b)
}

func openAPIv2(api, out string) error {
	doc, err := os.ReadFile(filepath.Join(api, "openapi-spec", "swagger.json"))
	if err != nil {
		return err
	}
	if err := write(filepath.Join(out, "openapi", "swagger.json.zst"), squeeze(compact(doc))); err != nil {
		return err
	}
	parsed, err := openapi_v2.ParseDocument(doc)
	if err != nil {
		return fmt.Errorf("parsing swagger.json: %w", err)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(parsed)
	if err != nil {
		return err
	}
	return write(filepath.Join(out, "openapi", "swagger.pb.zst"), squeeze(b))
}

func readJSON(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func compact(doc []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}

func squeeze(b []byte) []byte {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		log.Fatal(err)
	}
	return enc.EncodeAll(b, nil)
}

func write(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
