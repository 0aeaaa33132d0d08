package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

func TestLoad(t *testing.T) {
	const (
		hub  = "hub batch https://hub.example:6443"
		east = "east default https://east.example:6443"
		west = "west default https://west.example:6443"
	)
	all := fleet.Selection{All: true}
	for _, tt := range []struct {
		name      string
		args      []string
		selection fleet.Selection
		want      []string
	}{
		{"the current context", nil, fleet.Selection{}, []string{hub}},
		{"--context", []string{"--context=east"}, fleet.Selection{}, []string{east}},
		{"all: the current one, then by name", nil, all, []string{hub, east, west}},
		{"all with --context: that one first", []string{"--context=west"}, all, []string{west, east, hub}},
		{"all, patterns are ignored", nil, fleet.Selection{All: true, Patterns: []string{"nowhere"}}, []string{hub, east, west}},
		{"patterns, in the order of all", nil, fleet.Selection{Patterns: []string{"west", "*s*", "hub"}}, []string{hub, east, west}},
		{"excludes", nil, fleet.Selection{Patterns: []string{"^hub"}}, []string{east, west}},
		{"--namespace", []string{"--namespace=other"}, all, []string{
			"hub other https://hub.example:6443", "east other https://east.example:6443", "west other https://west.example:6443",
		}},
		{"--server", []string{"--server=https://elsewhere.example"}, fleet.Selection{}, []string{"hub batch https://elsewhere.example"}},
		{"--cluster", []string{"--cluster=c-west"}, fleet.Selection{}, []string{"hub batch https://west.example:6443"}},
		{"--server with a pattern for one context", []string{"--server=https://elsewhere.example"}, fleet.Selection{Patterns: []string{"east"}}, []string{"east default https://elsewhere.example"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, isolate(t), "config", threeContexts)
			contexts, err := fleet.Load(parse(t, tt.args...), tt.selection)
			assert.NilError(t, err)
			assert.DeepEqual(t, brief(contexts), tt.want)
			for _, c := range contexts {
				assert.Equal(t, c.Config.QPS, float32(-1), "%s is throttled", c.Name)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	noCurrent := strings.ReplaceAll(threeContexts, "current-context: hub", "")
	dangling := strings.ReplaceAll(threeContexts, "current-context: hub", "current-context: hob")
	for _, tt := range []struct {
		name       string
		kubeconfig string
		args       []string
		selection  fleet.Selection
		want       string
	}{
		{"no current context", noCurrent, nil, fleet.Selection{}, "the kubeconfig has no current context. Choose one of east, hub, west with --context, --contexts or --all-contexts"},
		{"a current context that is not there", dangling, nil, fleet.Selection{}, `current context "hob" is not in the kubeconfig; did you mean "hub"? Set another: kubectl config use-context hub`},
		{"a current context that is like no other", strings.ReplaceAll(dangling, "context: hob", "context: elsewhere"), nil, fleet.Selection{}, `current context "elsewhere" is not in the kubeconfig; it has east, hub, west. Set another: kubectl config use-context NAME`},
		{"the current context, by name", dangling, []string{"--context=hob"}, fleet.Selection{}, `no context "hob" in the kubeconfig; did you mean "hub"?`},
		{"an unknown --context", threeContexts, []string{"--context=wst"}, fleet.Selection{}, `no context "wst" in the kubeconfig; did you mean "west"?`},
		{"an unknown name", threeContexts, nil, fleet.Selection{Patterns: []string{"hub", "wst"}}, `no context "wst" in the kubeconfig; did you mean "west"?`},
		{"--server with all contexts", threeContexts, []string{"--server=https://x.example"}, fleet.Selection{All: true}, "--server cannot be combined with several contexts (hub, east, west): each context has its own"},
		{"all flags that are for one context", threeContexts, []string{"--server=https://x.example", "--token=t", "--cluster=c", "--user=u"}, fleet.Selection{Patterns: []string{"^hub"}}, "--server, --token, --cluster, --user cannot be combined with several contexts (east, west): each context has its own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, isolate(t), "config", tt.kubeconfig)
			contexts, err := fleet.Load(parse(t, tt.args...), tt.selection)
			assert.Error(t, err, tt.want)
			assert.Assert(t, cmp.Nil(contexts))
		})
	}
}

func TestLoadRefusedFlags(t *testing.T) {
	write(t, isolate(t), "config", threeContexts)
	_, err := fleet.Load(parse(t, "--token=t"), fleet.Selection{All: true})
	var refused *fleet.RefusedFlagsError
	assert.Assert(t, errors.As(err, &refused))
	assert.DeepEqual(t, *refused, fleet.RefusedFlagsError{Flags: []string{"--token"}, Contexts: []string{"hub", "east", "west"}})
}

func TestLoadWithoutCurrentContext(t *testing.T) {
	write(t, isolate(t), "config", strings.ReplaceAll(threeContexts, "current-context: hub", ""))
	contexts, err := fleet.Load(parse(t), fleet.Selection{All: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, brief(contexts), []string{
		"east default https://east.example:6443", "hub batch https://hub.example:6443", "west default https://west.example:6443",
	})
}

func TestLoadWithoutKubeconfig(t *testing.T) {
	for _, tt := range []struct {
		name      string
		args      []string
		selection fleet.Selection
	}{
		{"the current context", nil, fleet.Selection{}},
		{"--context", []string{"--context=hub"}, fleet.Selection{}},
		{"patterns", nil, fleet.Selection{Patterns: []string{"hub"}}},
		{"all", nil, fleet.Selection{All: true}},
		{"all with --server", []string{"--server=https://x.example"}, fleet.Selection{All: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := isolate(t)
			_, err := fleet.Load(parse(t, tt.args...), tt.selection)
			assert.ErrorIs(t, err, fleet.ErrNoKubeconfig)
			assert.ErrorContains(t, err, filepath.Join(dir, "config"))
			assert.ErrorContains(t, err, "KUBECONFIG")
		})
	}
}

func TestLoadServerWithoutKubeconfig(t *testing.T) {
	isolate(t)
	contexts, err := fleet.Load(parse(t, "--server=https://x.example", "--token=secret"), fleet.Selection{})
	assert.NilError(t, err)
	assert.DeepEqual(t, brief(contexts), []string{"https://x.example default https://x.example"})
	assert.Equal(t, contexts[0].Config.BearerToken, "secret")
	assert.Equal(t, contexts[0].Config.QPS, float32(-1))
}

func TestLoadExplicitFile(t *testing.T) {
	dir := isolate(t)
	write(t, dir, "config", threeContexts)
	other := write(t, dir, "other", strings.ReplaceAll(threeContexts, ".example", ".other"))
	contexts, err := fleet.Load(parse(t, "--kubeconfig="+other), fleet.Selection{})
	assert.NilError(t, err)
	assert.DeepEqual(t, brief(contexts), []string{"hub batch https://hub.other:6443"})

	// As in kubectl, only a file that is named explicitly has to exist.
	missing := filepath.Join(dir, "missing")
	_, err = fleet.Load(parse(t, "--kubeconfig="+missing), fleet.Selection{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, missing)
}

func TestLoadBrokenYAML(t *testing.T) {
	path := write(t, isolate(t), "config", "contexts: [")
	_, err := fleet.Load(parse(t), fleet.Selection{All: true})
	assert.ErrorContains(t, err, "cannot read the kubeconfig")
	assert.ErrorContains(t, err, path)
}
