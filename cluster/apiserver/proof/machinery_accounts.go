package proof

import "fmt"

// accountSecrets is what pods may refer to whose ServiceAccount lets them have the
// secrets that it names, and mirror pods.
func accountSecrets() []step {
	const ns = "/api/v1/namespaces/mountable"
	n := 0
	pod := func(meta, spec string) step {
		n++
		return post(ns+"/pods", fmt.Sprintf(`{"metadata":%s,"spec":%s}`, merge(fmt.Sprintf(`{"name":"p-%d"}`, n), meta), merge(`{"containers":[{"name":"c","image":"x:1"}]}`, spec)))
	}
	steps := []step{
		post("/api/v1/namespaces", `{"metadata":{"name":"mountable"}}`),
		post(ns+"/serviceaccounts", `{"metadata":{"name":"default"}}`),
		post(ns+"/serviceaccounts", `{"metadata":{"name":"strict","annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},"secrets":[{"name":"known"}],"imagePullSecrets":[{"name":"pull"}]}`),
		post(ns+"/serviceaccounts", `{"metadata":{"name":"lax","annotations":{"kubernetes.io/enforce-mountable-secrets":"maybe"}}}`),
	}
	for _, secret := range []string{"known", "other"} {
		for _, spec := range []string{
			`{"volumes":[{"name":"v","secret":{"secretName":%q}}]}`,
			`{"containers":[{"name":"c","image":"x:1","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":%q,"key":"k"}}}]}]}`,
			`{"containers":[{"name":"c","image":"x:1","envFrom":[{"secretRef":{"name":%q}}]}]}`,
			`{"initContainers":[{"name":"i","image":"x:1","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":%q,"key":"k"}}}]}]}`,
			`{"initContainers":[{"name":"i","image":"x:1","envFrom":[{"secretRef":{"name":%q}}]}]}`,
			`{"imagePullSecrets":[{"name":%q}]}`,
			`{"volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":%q}}]}}]}`,
		} {
			spec := fmt.Sprintf(spec, secret)
			steps = append(steps, pod(`{}`, merge(spec, `{"serviceAccountName":"strict"}`)), pod(`{}`, merge(spec, `{"serviceAccountName":"lax"}`)),
				pod(`{"annotations":{"kubernetes.io/config.mirror":"h"}}`, merge(spec, `{"nodeName":"n"}`)))
		}
	}
	steps = append(steps,
		pod(`{}`, `{"serviceAccountName":"strict","imagePullSecrets":[{"name":"pull"}]}`),
		pod(`{}`, `{"serviceAccountName":"nobody"}`),
		pod(`{"annotations":{"kubernetes.io/config.mirror":""}}`, `{"nodeName":"n"}`),
		pod(`{"annotations":{"kubernetes.io/config.mirror":"h"}}`, `{"nodeName":"n","serviceAccountName":"lax"}`),
		pod(`{"annotations":{"kubernetes.io/config.mirror":"h"}}`, `{"nodeName":"n","volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]}`),
		post(ns+"/pods", `{"metadata":{"name":"host"},"spec":{"serviceAccountName":"strict","containers":[{"name":"c","image":"x:1"}]}}`),
	)
	for _, secret := range []string{"other", "known"} {
		steps = append(steps, step{
			name: "an ephemeral container with the secret " + secret, method: "PATCH", path: ns + "/pods/host/ephemeralcontainers",
			headers: [][2]string{{"Content-Type", "application/strategic-merge-patch+json"}},
			body:    fmt.Sprintf(`{"spec":{"ephemeralContainers":[{"name":"e-%s","image":"x:1","envFrom":[{"secretRef":{"name":%q}}]}]}}`, secret, secret),
		})
	}
	return steps
}
