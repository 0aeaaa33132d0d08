package cmd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestResourceQuotaAgainstMirror checks that trace and check of a submitted Job name the ResourceQuota that allows no
// mirror, and keep the further steps of the fix. A quota for Pods does not refuse a mirror. Without it, and without the
// right to read ResourceQuotas, the fix is to look.
func TestResourceQuotaAgainstMirror(t *testing.T) {
	const jobs, ofPods = "count/jobs.batch", "pods"
	call := func(count string, args ...string) string {
		var kubeconfig string
		kubeconfig = serve(t, filepath.Join(recordings, "mirror-refused-by-quota"), func(_ string, w http.ResponseWriter, r *http.Request) bool {
			asked, ok := rbactest.RequestOf(r)
			if ok {
				assert.Check(t, asked.AllowedBy(rights.Of(rights.LookSecrets)), asked.String())
			}
			w.Header().Set("Content-Type", "application/json")
			switch {
			case ok && asked.Resource == "secrets":
				writeKubeconfigSecret(t, w, kubeconfig, "kwok-w"+asked.Name[len("worker"):len("worker1")])
			case !ok || asked.Resource != "resourcequotas":
				return false
			case count == "":
				rbactest.Refuse(w, asked)
			default:
				_, _ = fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "ResourceQuotaList", "metadata": {}, "items": [{"metadata": {"name": "jobs", "namespace": "default"},
					"status": {"hard": {%[1]q: "0"}, "used": {%[1]q: "0"}}}]}`, count)
			}
			return true
		})
		out, _, _ := run(t, append(args, "train", "-n", "default", "--kubeconfig", kubeconfig)...)
		return out
	}
	const why, look = "ResourceQuota jobs allows no further Job (count/jobs.batch)", "check that no webhook or policy on kwok-w1 rejects Jobs"
	const raise, after = "raise ResourceQuota jobs in namespace default on kwok-w1", "check that Kueue runs on kwok-mgr"
	out := call(jobs, "trace")
	assert.Assert(t, strings.Contains(out, "\nworker1 (kwok-w1) admitted it, but MultiKueue created no mirror there: "+why+".\nFix: "+raise), out)
	assert.Assert(t, strings.Contains(out, "\nworker1  kwok-w1  waits    "+why+"\nworker2  kwok-w2  "), out)
	assert.Assert(t, strings.Contains(out, after) && !strings.Contains(out, look), out)
	assert.Equal(t, strings.Count(out, why), 3, out)
	out = call(jobs, "check", "--grace", "0s")
	assert.Assert(t, strings.Contains(out, why) && strings.Contains(out, raise) && strings.Contains(out, after) && !strings.Contains(out, look), out)
	for _, count := range []string{ofPods, ""} {
		for _, args := range [][]string{{"trace"}, {"check", "--grace", "0s"}} {
			out = call(count, args...)
			assert.Assert(t, strings.Contains(out, look) && !strings.Contains(out, raise), out)
		}
	}
}

// writeKubeconfigSecret answers with the Secret of a MultiKueueCluster that points to the cluster of a context.
func writeKubeconfigSecret(t *testing.T, w http.ResponseWriter, kubeconfig, context string) {
	t.Helper()
	all, err := clientcmd.LoadFromFile(kubeconfig)
	assert.Check(t, err)
	all.CurrentContext = context
	assert.Check(t, clientcmdapi.MinifyConfig(all))
	data, err := clientcmd.Write(*all)
	assert.Check(t, err)
	answer, err := json.Marshal(corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{"kubeconfig": data}})
	assert.Check(t, err)
	_, _ = w.Write(answer)
}
