package fleet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// refuse is a network without listeners.
func refuse(_ context.Context, network, _ string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
}

// direct ignores the proxy of the environment.
func direct(*http.Request) (*url.URL, error) { return nil, nil }

func TestOpenKeepsBrokenContexts(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.crt")
	contexts := []Context{
		{Name: "z-broken", Err: errors.New("no such user")},
		{Name: "a-missing", Config: &rest.Config{Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{CAFile: missing}}},
		{Name: "m-down", Config: &rest.Config{Host: "https://api.example", Dial: refuse, Proxy: direct}},
		// This one equals the one before. That is unknown, because neither answered.
		{Name: "m-down-too", Config: &rest.Config{Host: "https://api.example", Dial: refuse, Proxy: direct}},
	}
	f := Open(t.Context(), contexts, Options{})
	names := []string{"z-broken", "a-missing", "m-down", "m-down-too"}
	assert.DeepEqual(t, f.Contexts(), names)
	// Clusters that are down may answer later. The other contexts cannot.
	var later []string
	for _, c := range f.Clusters() {
		later = append(later, c.Context)
	}
	assert.DeepEqual(t, later, names[2:])
	assert.Equal(t, len(f.Aliases()), 0)

	answers := Ask(t.Context(), f, func(context.Context, *Cluster) (string, error) {
		return "", errors.New("asked, though it could not be reached")
	})
	wants := []struct {
		code kubecontext.Code
		text string
	}{
		{kubecontext.CodeConfig, "context \"z-broken\": the kubeconfig entry is not usable: no such user"},
		{kubecontext.CodeConfig, "context \"a-missing\": the kubeconfig entry is not usable: "},
		{kubecontext.CodeUnreachable, "context \"m-down\": cannot reach the cluster: dial tcp: connection refused. "},
		{kubecontext.CodeUnreachable, "context \"m-down-too\": cannot reach the cluster: dial tcp: connection refused. "},
	}
	for i, err := range errorsOf(f) {
		var failed *kubecontext.Error
		assert.Assert(t, errors.As(err, &failed))
		assert.Equal(t, failed.Context, names[i])
		assert.Equal(t, failed.Code(), wants[i].code)
		assert.ErrorContains(t, err, wants[i].text)
		assert.Equal(t, answers[i].Context, names[i])
		assert.Equal(t, answers[i].Err, err)
	}
	assert.Equal(t, len(errorsOf(f)), len(wants))
	assert.ErrorContains(t, errorsOf(f)[1], missing)
}

func TestOpenReturnsTheCauseOfCancellation(t *testing.T) {
	cause := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	f := Open(ctx, []Context{{Name: "c", Config: &rest.Config{
		Host:  "https://api.example",
		Proxy: direct,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel(cause)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}}, Options{})
	assert.Equal(t, len(errorsOf(f)), 1)
	assert.ErrorIs(t, errorsOf(f)[0], cause)
}

func TestNewCluster(t *testing.T) {
	good := Context{Name: "good", Namespace: "batch", Config: &rest.Config{Host: "https://api.example"}}
	c, err := newCluster(good, clock.RealClock{}, "")
	assert.NilError(t, err)
	assert.Equal(t, c.Context, "good")
	assert.Equal(t, c.Namespace, "batch")
	assert.Equal(t, c.UID(), "")

	own := errors.New("its own error")
	for name, broken := range map[string]Context{
		"an error of its own": {Err: own},
		"no PEM":              {Config: &rest.Config{Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}}},
		"CA and insecure":     {Config: &rest.Config{Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x"), Insecure: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newCluster(broken, clock.RealClock{}, "")
			var unusable *kubecontext.ConfigError
			assert.Assert(t, errors.As(err, &unusable))
			assert.Assert(t, cmp.Nil(c))
			if broken.Err != nil {
				assert.ErrorIs(t, err, own)
			}
		})
	}
}

func TestAliases(t *testing.T) {
	f := fleetOf([]string{"prod", "zeta", "beta"}, []string{"dev"}, []string{"hub", "alpha"})
	f.members = append(f.members, &member{context: "down", err: errForbidden})
	assert.DeepEqual(t, f.Aliases(), []Alias{{"alpha", "hub"}, {"beta", "prod"}, {"zeta", "prod"}})
	assert.DeepEqual(t, f.Contexts(), []string{"prod", "dev", "hub", "down"})
	assert.Equal(t, len(f.Clusters()), 3)
	assert.Equal(t, f.Clusters()[0].Context, "prod")
	assert.Equal(t, len(errorsOf(f)), 1)
	assert.ErrorIs(t, errorsOf(f)[0], errForbidden)
}

func asError(t *testing.T, err error) *kubecontext.Error {
	t.Helper()
	var e *kubecontext.Error
	assert.Assert(t, errors.As(err, &e))
	return e
}

// errorsOf returns the errors of the members that did not answer.
func errorsOf(f *Fleet) []error {
	var errs []error
	for _, m := range f.members {
		if m.failed() != nil {
			errs = append(errs, m.failed())
		}
	}
	return errs
}
