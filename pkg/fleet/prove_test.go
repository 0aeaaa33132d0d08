package fleet

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

// sees adds an object with a UID to what the user can read.
func (u *user) sees(path, uid string) *user {
	u.answers[path] = fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"seen","uid":%q}}`, uid)
	return u
}

const ownNamespace = "/api/v1/namespaces/default"

// TestProofByNamespaces checks that contexts with different addresses count as one cluster if
// they see the same namespace, even if one may not read kube-system.
func TestProofByNamespaces(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b *user
		same bool
		uid  string
	}{
		{"the same namespace", mayRead("").sees(ownNamespace, "n"), mayRead("u").sees(ownNamespace, "n"), true, "u"},
		{"neither knows more", mayRead("").sees(ownNamespace, "n"), mayRead("").sees(ownNamespace, "n"), true, ""},
		{"another namespace of that name", mayRead("").sees(ownNamespace, "n"), mayRead("u").sees(ownNamespace, "m"), false, ""},
		{"no common object", mayRead("").sees(ownNamespace, "n"), mayRead("u"), false, ""},
		{"no readable object", mayRead(""), mayRead("u"), false, ""},
		{"an empty UID", mayRead("").sees(ownNamespace, ""), mayRead("u").sees(ownNamespace, ""), false, ""},
		{"two that are known to be two", mayRead("v").sees(ownNamespace, "n"), mayRead("u").sees(ownNamespace, "n"), false, "v"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Open(t.Context(), []Context{at("a", "https://a x", tt.a), at("b", "https://b x", tt.b)}, Options{})
			assert.Equal(t, len(f.Contexts()) == 1, tt.same)
			assert.Equal(t, f.Clusters()[0].UID(), tt.uid)
			asked := len(tt.a.asked)
			f.BeginRound(t.Context())
			assert.Equal(t, len(tt.a.asked), asked, "it is read once")
		})
	}
	f := Open(t.Context(), []Context{at("a", "https://a x", mayRead("").sees(ownNamespace, "n")), at("b", "https://a y", mayRead("u").sees(ownNamespace, "n"))}, Options{})
	assert.Equal(t, len(f.Contexts()), 2, "equal UIDs behind other authorities prove nothing")
	assert.Equal(t, f.Clusters()[0].UID(), "")
}

// TestNothingToProve checks that no request is sent if every context knows its cluster, or if
// there is only one.
func TestNothingToProve(t *testing.T) {
	for name, users := range map[string][]*user{
		"all are known": {mayRead("u"), mayRead("v")},
		"there is one":  {mayRead("")},
	} {
		var contexts []Context
		for i, u := range users {
			contexts = append(contexts, at(fmt.Sprint(i), fmt.Sprintf("https://%d x", i), u))
		}
		f := Open(t.Context(), contexts, Options{})
		for i, u := range users {
			_ = f.Clusters()[i].UID()
			assert.DeepEqual(t, u.asked, []string{fmt.Sprintf("GET %d%s", i, kubeSystem)})
		}
		assert.Assert(t, len(users) > 0, name)
	}
}

// TestProofsAreBounded checks the limit on namespaces.
func TestProofsAreBounded(t *testing.T) {
	var contexts []Context
	var users []*user
	for i := range 10 {
		u := mayRead("")
		c := at(fmt.Sprint(i), fmt.Sprintf("https://%d x", i), u)
		c.Namespace = fmt.Sprintf("team-%d", i)
		users, contexts = append(users, u), append(contexts, c)
	}
	Open(t.Context(), contexts, Options{})
	for _, u := range users {
		assert.Assert(t, len(u.asked) <= 1+2*maxProofs, "%q", u.asked)
	}
}
