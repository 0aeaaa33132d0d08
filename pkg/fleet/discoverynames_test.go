package fleet

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// TestGroupsThatAreNoNames checks that a server whose groups or versions are paths is refused,
// and that nothing is written outside of the cache.
func TestGroupsThatAreNoNames(t *testing.T) {
	for _, tt := range []struct{ group, version string }{
		{"../../../escaped", "v1"},
		{"escaped.example.com", ".."},
		{"escaped.example.com", "../../../../escaped"},
		{"a/b", "v1"},
		{"..", "v1"},
		{"/escaped", "v1"},
		{"a\x00b", "v1"},
		{"Escaped", "v1"},
		{"a\\b", "v1"},
		{"escaped.example.com", ""},
		{"a.example.com", "v1/../../escaped"},
	} {
		for _, isCached := range []bool{true, false} {
			a, url := serve(t, map[string][]string{"v1": {"pods"}, "batch/v1": {"jobs"}})
			gv := tt.group + "/" + tt.version
			version := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: tt.version}
			groups, _ := a.paths["/apis"].(metav1.APIGroupList)
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: tt.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
			list := metav1.APIResourceList{GroupVersion: gv, APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job"}}}
			a.paths["/apis"] = groups
			for _, address := range []string{"/apis/" + gv, path.Join("/apis", gv), path.Join("/apis", gv) + "/"} {
				if address != "/apis" {
					a.paths[address] = list
				}
			}

			root := t.TempDir()
			cacheDir := ""
			if isCached {
				cacheDir = filepath.Join(root, "a", "b", "cache")
			}
			c, err := newCluster(Context{Name: "c", Config: &rest.Config{Host: url}}, clock.RealClock{}, cacheDir)
			assert.NilError(t, err)
			d, err := c.Discovery()
			assert.NilError(t, err)
			_, err = d.API(t.Context())
			var refused *GroupNameError
			assert.Check(t, errors.As(err, &refused), "%q: %v", gv, err)
			for _, file := range filesIn(t, root) {
				isInside := strings.HasPrefix(file, "a/b/cache/") && !strings.Contains(strings.ToLower(file), "escaped")
				assert.Check(t, isInside, "%q: %s", gv, file)
			}
		}
	}
}

// TestListsThatAreNoNames checks the same for a list of resources, which repeats its group and
// version.
func TestListsThatAreNoNames(t *testing.T) {
	for _, gv := range []string{"../v1", "../../c-victim/apis", "batch/..", "a/b/c"} {
		a, url := serve(t, map[string][]string{"v1": {"pods"}, "batch/v1": {"jobs"}})
		a.paths["/apis/batch/v1"] = metav1.APIResourceList{GroupVersion: gv, APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job"}}}
		c, err := newCluster(Context{Name: "c", Config: &rest.Config{Host: url}}, clock.RealClock{}, t.TempDir())
		assert.NilError(t, err)
		d, err := c.Discovery()
		assert.NilError(t, err)
		_, err = d.API(t.Context())
		var refused *GroupNameError
		assert.Check(t, errors.As(err, &refused), "%q: %v", gv, err)
	}
}

// TestDiscoveryDir checks that hosts have separate directories inside the cache. For hosts
// without "..", the directory equals that of kubectl, by kubectl's own expression.
func TestDiscoveryDir(t *testing.T) {
	illegal := regexp.MustCompile(`[^(\w/.)]`)
	for _, host := range []string{
		"https://a.example:6443", "https://a.example/k8s/clusters/c-1", "http://127.0.0.1:8080/", "https://[::1]:6443", "https://a..b.example/...", "https://a/./b", "https://ä",
	} {
		schemeless := strings.Replace(strings.Replace(host, "https://", "", 1), "http://", "", 1)
		assert.Equal(t, discoveryDir("/c", host), path.Join("/c/discovery", illegal.ReplaceAllString(schemeless, "_")), host)
	}
	for _, host := range []string{"https://a/../../../x", "https://a/..", "https://../..", "..", "../x", "https://a/../b.example", "https://a\\..\\..\\x", "https://https://../../x"} {
		dir := discoveryDir("/c", host)
		inside, err := filepath.Rel("/c/discovery", dir)
		assert.NilError(t, err)
		assert.Assert(t, fs.ValidPath(inside) && inside != "." && inside != "b.example", "%s: %s", host, dir)
	}
}
