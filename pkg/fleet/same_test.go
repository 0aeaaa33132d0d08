package fleet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const certificate = "-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n"

// user is an API server as one context sees it: its readable answers by path, and the code that
// refuses all others.
type user struct {
	answers map[string]string
	refusal int

	// Several contexts of the same user may send requests at once.
	mu    sync.Mutex
	asked []string
}

func (u *user) RoundTrip(r *http.Request) (*http.Response, error) {
	u.mu.Lock()
	u.asked = append(u.asked, r.Method+" "+r.URL.Host+r.URL.Path)
	u.mu.Unlock()
	code, body := http.StatusOK, u.answers[r.URL.Path]
	if body == "" {
		code = u.refusal
		reason := map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 401: metav1.StatusReasonUnauthorized, 500: metav1.StatusReasonInternalError}[code]
		body = fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

const kubeSystem = "/api/v1/namespaces/kube-system"

// mayRead returns a user who can read the UID of a cluster, unless it is "", and other paths.
func mayRead(uid string, others ...string) *user {
	u := &user{answers: map[string]string{}, refusal: http.StatusForbidden}
	if uid != "" {
		u.answers[kubeSystem] = fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"kube-system","uid":%q}}`, uid)
	}
	for _, path := range others {
		u.answers[path] = fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"answer","uid":"of %s"}}`, path)
	}
	return u
}

// at returns a context; where is "server CA".
func at(name, where string, u *user) Context {
	server, ca, _ := strings.Cut(where, " ")
	return Context{Name: name, Namespace: "default", CA: ca, Config: &rest.Config{Host: server, Transport: u}}
}

func TestContextsOfOneCluster(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b Context
		same bool
	}{
		{"one UID, other addresses", at("a", "https://a x", mayRead("u")), at("b", "https://b x", mayRead("u")), true},
		{"one UID, one address without an authority", at("a", "https://a", mayRead("u")), at("b", "https://a", mayRead("u")), true},
		{"one UID, other authorities, as after an etcd restore", at("a", "https://a x", mayRead("u")), at("b", "https://a y", mayRead("u")), false},
		{"one UID, other addresses without an authority", at("a", "https://a", mayRead("u")), at("b", "https://b", mayRead("u")), false},
		{"other UIDs, one address", at("a", "https://a x", mayRead("u")), at("b", "https://a x", mayRead("v")), false},
		{"neither UID, one address, as behind a proxy", at("a", "https://a x", mayRead("")), at("b", "https://A:443/ x", mayRead("")), false},
		{"one may read it, one address", at("a", "https://a x", mayRead("")), at("b", "https://a x", mayRead("u")), false},
		{"neither UID, another address", at("a", "https://a x", mayRead("")), at("b", "https://b x", mayRead("")), false},
		{"nothing is known of either", at("a", "", mayRead("")), at("b", "", mayRead("")), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Open(t.Context(), []Context{tt.a, tt.b}, Options{})
			assert.Equal(t, len(f.Contexts()) == 1, tt.same)
			assert.Equal(t, len(f.Aliases()) == 1, tt.same)
			elsewhere := tt.b
			elsewhere.Namespace = "elsewhere"
			assert.Equal(t, len(Open(t.Context(), []Context{tt.a, elsewhere}, Options{}).Contexts()), 2, "they look at two namespaces")
			assert.Equal(t, len(Open(t.Context(), []Context{tt.a, elsewhere}, Options{AllNamespaces: true}).Contexts()) == 1, tt.same)
		})
	}
}

// TestKnownThroughAnother checks that a context without the right to read its cluster's UID gets
// it from another one, if both see the same namespace.
func TestKnownThroughAnother(t *testing.T) {
	const ml = "/api/v1/namespaces/ml"
	developer, admin := at("dev", "https://a x", mayRead("").sees(ml, "n")), at("admin", "https://b x", mayRead("u").sees(ml, "n"))
	developer.Namespace = "ml"
	f := Open(t.Context(), []Context{developer, admin, at("other", "https://a x", mayRead(""))}, Options{})
	assert.DeepEqual(t, f.Contexts(), []string{"dev", "admin", "other"})
	assert.Equal(t, f.Clusters()[0].UID(), "u")
	assert.Equal(t, f.Clusters()[2].UID(), "", "one address is no proof")
	assert.Assert(t, !f.Distinct())
}

func TestEndpoint(t *testing.T) {
	base := &rest.Config{Host: "https://api.example:6443"}
	through := func(proxy string) *rest.Config {
		return &rest.Config{Host: base.Host, Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }}
	}
	named := &rest.Config{Host: base.Host, TLSClientConfig: rest.TLSClientConfig{ServerName: "other"}}
	assert.Equal(t, endpoint(base, "ca"), endpoint(&rest.Config{Host: "https://API.example:6443/"}, "ca"))
	assert.Assert(t, endpoint(base, "ca") != endpoint(named, "ca"))
	assert.Equal(t, endpoint(base, "ca"), endpoint(through("http://proxy"), "ca"), "the authority proves it, however it is reached")
	assert.Assert(t, endpoint(base, "") != endpoint(through("http://proxy"), ""), "a tunnel may lead anywhere")
}

// TestAuthorityInFile checks that a certificate in the kubeconfig and one in a named file are the
// same.
func TestAuthorityInFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	assert.NilError(t, os.WriteFile(file, []byte("# of the lab\n"+certificate), 0o600))
	inline := Context{Config: &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: []byte(certificate)}}}
	named := Context{Config: &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: file}}}
	assert.Equal(t, named.authority(), inline.authority())
	assert.Assert(t, inline.authority() != "")
}

// read reads a ConfigMap.
func read(ctx context.Context, c *Cluster, name string) (string, error) {
	o, err := c.Metadata().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("ml").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return c.Context + " answers " + string(o.UID), nil
}

// TestOtherContextsAreAsked checks that each request that a context has no right for is answered
// by the others of the same cluster, whatever their address.
func TestOtherContextsAreAsked(t *testing.T) {
	const one, two = "/api/v1/namespaces/ml/configmaps/one", "/api/v1/namespaces/ml/configmaps/two"
	for _, refusal := range []int{http.StatusForbidden, http.StatusUnauthorized} {
		a, b, c := mayRead("u", one), mayRead("u"), mayRead("u", "/prefix"+two)
		a.refusal, b.refusal = refusal, refusal
		c.answers["/prefix"+kubeSystem] = c.answers[kubeSystem]
		f := Open(t.Context(), []Context{at("a", "https://a x", a), at("b", "https://a x", b), at("c", "https://b/prefix x", c)}, Options{})
		var got []string
		for _, name := range []string{"one", "two", "three"} {
			answers := Ask(t.Context(), f, func(ctx context.Context, c *Cluster) (string, error) { return read(ctx, c, name) })
			assert.Equal(t, len(answers), 1)
			got = append(got, answers[0].Value)
			if name == "three" {
				assert.Equal(t, asError(t, answers[0].Err).Context, "a")
				assert.Equal(t, apierrors.IsForbidden(answers[0].Err), refusal == http.StatusForbidden, "what the first was told is what counts")
				continue
			}
			assert.NilError(t, answers[0].Err)
		}
		assert.DeepEqual(t, got, []string{"a answers of " + one, "a answers of /prefix" + two, ""})
		assert.Equal(t, c.asked[1], "GET b/prefix"+two)
	}
}

// TestOtherContextsAreAskedForRightsOnly checks that other errors are returned, and that writes
// use only the chosen context.
func TestOtherContextsAreAskedForRightsOnly(t *testing.T) {
	const one = "/api/v1/namespaces/ml/configmaps/one"
	a, b := mayRead("u"), mayRead("u", one)
	a.refusal = http.StatusInternalServerError
	f := Open(t.Context(), []Context{at("a", "https://a x", a), at("b", "https://a x", b)}, Options{})
	answers := Ask(t.Context(), f, func(ctx context.Context, c *Cluster) (string, error) { return read(ctx, c, "one") })
	assert.ErrorContains(t, answers[0].Err, "context \"a\": ")

	a.refusal = http.StatusForbidden
	err := f.Clusters()[0].Metadata().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("ml").Delete(t.Context(), "one", metav1.DeleteOptions{})
	assert.Assert(t, apierrors.IsForbidden(err), "%v", err)
	assert.Equal(t, len(b.asked), 1, "it was asked who it is: %v", b.asked)
}

// TestContextsOfOtherNamespaces checks that a context reads for another one of the same cluster that has
// another namespace, although both are asked.
func TestContextsOfOtherNamespaces(t *testing.T) {
	const one = "/api/v1/namespaces/ml/configmaps/one"
	a, b := mayRead("u"), mayRead("u", one)
	contexts := []Context{at("a", "https://a x", a), at("b", "https://a x", b)}
	contexts[1].Namespace = "other"
	f := Open(t.Context(), contexts, Options{Refused: func(context.Context, *Cluster) int { return 0 }})
	assert.DeepEqual(t, f.Contexts(), []string{"a", "b"})
	for _, answer := range Ask(t.Context(), f, func(ctx context.Context, c *Cluster) (string, error) { return read(ctx, c, "one") }) {
		assert.NilError(t, answer.Err)
	}
}

// TestRepresentativeOfACluster checks that the first context with the needed right represents the
// cluster, because messages name it.
func TestRepresentativeOfACluster(t *testing.T) {
	const one = "/api/v1/namespaces/ml/configmaps/one"
	refused := func(ctx context.Context, c *Cluster) int {
		if _, err := read(ctx, c, "one"); apierrors.IsForbidden(err) {
			return 1
		}
		return 0
	}
	contexts := []Context{at("a", "https://a x", mayRead("").sees(ownNamespace, "n")), at("b", "https://a x", mayRead("u", one).sees(ownNamespace, "n")), at("c", "https://a x", mayRead("", one).sees(ownNamespace, "n"))}
	f := Open(t.Context(), contexts, Options{Refused: refused})
	assert.DeepEqual(t, f.Contexts(), []string{"b"})
	assert.DeepEqual(t, f.Aliases(), []Alias{{"a", "b"}, {"c", "b"}})
	f = Open(t.Context(), contexts[:1], Options{Refused: refused})
	assert.DeepEqual(t, f.Contexts(), []string{"a"})
	f = Open(t.Context(), []Context{contexts[0], at("d", "https://a x", mayRead("").sees(ownNamespace, "n"))}, Options{Refused: refused})
	assert.DeepEqual(t, f.Contexts(), []string{"a"}) // Without any right, it is the first.
	assert.Equal(t, len(f.Routes("a")), 2)
}

// TestJoinedLater checks that two contexts of one cluster are asked once, after the second one
// has answered, too.
func TestJoinedLater(t *testing.T) {
	late := mayRead("u")
	late.refusal = http.StatusServiceUnavailable
	answers := late.answers
	late.answers = nil
	f := Open(t.Context(), []Context{at("a", "https://a x", late), at("b", "https://b x", mayRead("u"))}, Options{})
	assert.DeepEqual(t, f.Contexts(), []string{"a", "b"})
	late.answers = answers
	f.BeginRound(t.Context())
	assert.DeepEqual(t, f.Contexts(), []string{"a"})
	assert.DeepEqual(t, f.Aliases(), []Alias{{"b", "a"}})
}
