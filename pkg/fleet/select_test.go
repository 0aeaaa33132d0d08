package fleet_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// available is not sorted, to show whether a result is.
var available = []string{
	"hub", "prod-west", "prod-east", "arn:aws:eks:eu-1:42:cluster/prod", "arn:aws:eks:eu-1:42:cluster/dev", "dev[1]", "*", "^odd", "/re/", "a,b",
}

func TestSelect(t *testing.T) {
	const (
		eksProd = "arn:aws:eks:eu-1:42:cluster/prod"
		eksDev  = "arn:aws:eks:eu-1:42:cluster/dev"
	)
	for _, tt := range []struct {
		patterns []string
		want     []string
	}{
		{[]string{"hub"}, []string{"hub"}},
		{[]string{"prod-east", "hub"}, []string{"hub", "prod-east"}},
		{[]string{"hub", "hub", "hu?"}, []string{"hub"}},
		{[]string{"prod-*"}, []string{"prod-west", "prod-east"}},
		{[]string{"*prod*", "hub"}, []string{"hub", "prod-west", "prod-east", eksProd}},
		{[]string{"arn:*"}, []string{eksProd, eksDev}},
		{[]string{"arn:*/dev"}, []string{eksDev}},
		{[]string{"prod-[we]*"}, []string{"prod-west", "prod-east"}},
		{[]string{eksProd}, []string{eksProd}},

		{[]string{"/^prod-(east|west)$/"}, []string{"prod-west", "prod-east"}},
		{[]string{"/east/"}, []string{"prod-east"}},
		{[]string{"/cluster/d/"}, []string{eksDev}},

		{[]string{"/prod/", "^prod-east"}, []string{"prod-west", eksProd}},
		{[]string{"^prod-east", "/prod/"}, []string{"prod-west", eksProd}},
		{[]string{"^*prod*", "/east|hub/"}, []string{"hub"}},
		{[]string{"^/^arn|^.{1,5}$/"}, []string{"prod-west", "prod-east", "dev[1]"}},
		{[]string{"^arn:*", "^prod-*"}, []string{"hub", "dev[1]", "*", "^odd", "/re/", "a,b"}},

		// Exact names take precedence over patterns.
		{[]string{"dev[1]"}, []string{"dev[1]"}},
		{[]string{"*"}, []string{"*"}},
		{[]string{"/re/"}, []string{"/re/"}},
		{[]string{"/re/", "^*"}, []string{"/re/"}},
		{[]string{"^^odd", "/odd|hub/"}, []string{"hub"}},

		// Lists with commas, and a name that contains a comma.
		{[]string{"prod-east, hub,"}, []string{"hub", "prod-east"}},
		{[]string{"a,b", "hub"}, []string{"hub", "a,b"}},
		{[]string{"^a,b", "/a,b|hub/"}, []string{"hub"}},
		{[]string{"/^[ah].{2,}$/,prod-*,^/^.{4,}$/"}, []string{"hub", "a,b"}},
	} {
		t.Run(strings.Join(tt.patterns, ","), func(t *testing.T) {
			got, err := fleet.Select(tt.patterns, available)
			assert.NilError(t, err)
			assert.DeepEqual(t, got, tt.want)
		})
	}
}

func TestSelectLeavesAvailableAlone(t *testing.T) {
	names := []string{"a", "b", "c"}
	got, err := fleet.Select([]string{"^a"}, names)
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []string{"b", "c"})
	assert.DeepEqual(t, names, []string{"a", "b", "c"})
}

func TestSelectErrors(t *testing.T) {
	many := strings.Split("c1 c2 c3 c4 c5 c6 c7 c8 c9 c10", " ")
	for _, tt := range []struct {
		name      string
		patterns  []string
		available []string
		want      string
		nearest   string
		// unknown is whether the error is an *UnknownContextError.
		unknown bool
	}{
		{"a typing mistake", []string{"hub", "prod-wst"}, available, `no context "prod-wst" in the kubeconfig; did you mean "prod-west"?`, "prod-west", true},
		{"another case", []string{"HUB"}, available, `no context "HUB" in the kubeconfig; did you mean "hub"?`, "hub", true},
		{"a typing mistake in what to leave out", []string{"^hab"}, available, `no context "hab" in the kubeconfig; did you mean "hub"?`, "hub", true},
		{"nothing like it", []string{"staging"}, []string{"b", "a"}, `no context "staging" in the kubeconfig; it has b, a`, "", true},
		{"many contexts", []string{"staging"}, many, `no context "staging" in the kubeconfig; it has c1, c2, c3, c4, c5, c6, c7, c8 and 2 more`, "", true},
		{"no contexts", []string{"hub"}, nil, `no context "hub" in the kubeconfig; it has no contexts`, "", true},
		{"a glob that matches nothing", []string{"stag*"}, []string{"b", "a"}, `no context in the kubeconfig matches "stag*"; it has b, a`, "", true},
		{"an expression that matches nothing", []string{"/^x/"}, []string{"b", "a"}, `no context in the kubeconfig matches "/^x/"; it has b, a`, "", true},
		{"a glob that leaves nothing out", []string{"^stag*"}, []string{"b", "a"}, `no context in the kubeconfig matches "stag*"; it has b, a`, "", true},
		{"a bad expression", []string{"/a(/"}, available, "context pattern /a(/: error parsing regexp: missing closing ): `a(`", "", false},
		{"a bad glob", []string{"a["}, available, `context pattern "a[": syntax error in pattern`, "", false},
		{"nothing left", []string{"a", "^*"}, []string{"b", "a"}, `pattern "a,^*" excludes every context: b, a`, "", false},
		{"all left out", []string{"^/./"}, []string{"b", "a"}, `pattern "^/./" excludes every context: b, a`, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fleet.Select(tt.patterns, tt.available)
			assert.Error(t, err, tt.want)
			assert.Assert(t, cmp.Nil(got))
			var unknown *fleet.UnknownContextError
			assert.Equal(t, errors.As(err, &unknown), tt.unknown)
			if tt.unknown {
				assert.Equal(t, unknown.Nearest, tt.nearest)
				assert.DeepEqual(t, unknown.Available, tt.available)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		typed      string
		candidates []string
		want       string
	}{
		{"prod", []string{"dev", "prd", "prods"}, "prd"},
		{"prod", []string{"dev", "PROD", "prd"}, "PROD"},
		{"production-eas", []string{"production-west", "production-east"}, "production-east"},
		{"a", []string{"b"}, "b"},
		{"ab", []string{"cd"}, ""},
		{"abcdef", []string{"abcxyz"}, ""},
		{"abcdef", []string{"abcdxy"}, "abcdxy"},
		{"prod", nil, ""},
	} {
		t.Run(tt.typed, func(t *testing.T) {
			assert.Equal(t, fleet.Nearest(tt.typed, tt.candidates), tt.want)
		})
	}
}
