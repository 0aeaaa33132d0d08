package cmd

import (
	"encoding/json"
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

// TestResourceQuotaAgainstMirror checks that trace of a submitted Job names the ResourceQuota that allows no mirror,
// with the fix that trace -f has. Without the right to read ResourceQuotas, the fix is to look.
func TestResourceQuotaAgainstMirror(t *testing.T) {
	const quotas = `{"apiVersion": "v1", "kind": "ResourceQuotaList", "metadata": {}, "items": [{"metadata": {"name": "jobs", "namespace": "default"},
		"status": {"hard": {"count/jobs.batch": "0"}, "used": {"count/jobs.batch": "0"}}}]}`
	call := func(mayRead bool) string {
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
			case !mayRead:
				rbactest.Refuse(w, asked)
			default:
				_, _ = w.Write([]byte(quotas))
			}
			return true
		})
		out, _, _ := run(t, "trace", "train", "-n", "default", "--kubeconfig", kubeconfig)
		return out
	}
	out := call(true)
	const why = "ResourceQuota jobs allows no further Job (count/jobs.batch)"
	assert.Assert(t, strings.Contains(out, "\nworker1 (kwok-w1) admitted it, but MultiKueue created no mirror there: "+why+".\nFix: raise ResourceQuota jobs in namespace default on kwok-w1"), out)
	assert.Assert(t, strings.Contains(out, "\nworker1  kwok-w1  waits    "+why+"\nworker2  kwok-w2  "), out)
	assert.Equal(t, strings.Count(out, why), 3, out)
	out = call(false)
	assert.Assert(t, !strings.Contains(out, why) && strings.Contains(out, "\nFix: check that no webhook or policy on kwok-w1 rejects Jobs"), out)
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
