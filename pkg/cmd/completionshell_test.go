package cmd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"

	batchv1 "k8s.io/api/batch/v1"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// expandedByShells are words that some shell expands or executes in part.
var expandedByShells = []string{
	"flow.example.com/$(touch${IFS}ran)", "flow.example.com/`touch${IFS}ran`", "a$(touch ran)", "a`touch ran`", "$(touch ran)",
	"a<(touch ran)", "a>(touch ran)", "a;touch ran", "a|touch ran", "a&touch ran", "a>ran", "a<ran", "a\ntouch ran", "a\ttouch ran",
	"${x:=y}", "$HOME", "a$IFS", "a'b", `a"b`, `a\b`, "a b", "a*", "a?", "a[b]", "{a,b}", "a(b)", "a!b", "#a", "a#b", "~", "~root", "a~", "a:~root",
	"=ls", "%1", "@a", "+a", ":a", "-a", "--as=admin", "^^a", "a^b", "\x1b[31m", "a\u202eb", "a,$(touch ran)", "a,-b", ",a", "a,", "a’b", "…",
}

// takenLiterally are words that every shell takes unchanged.
var takenLiterally = []string{
	"a", "job-1", "a.b_c", "flow.example.com/runner", "arn:aws:eks:eu-west-1:123:cluster/x", "gke_a_b_c", "user@cluster",
	"default/api-host:6443/kube:admin", "a+b=c%d", "münchen", "日本",
}

// compgen completes the words of its arguments as older kubectl does, by the scripts of
// cobra 1.8.1 for bash (bash_completions.go, bash_completionsV2.go), and then evaluates
// the result, as bash does with a command line.
const compgen = `
completions=("$@") cur='' IFS=$' \t\n'
IFS=$'\n' read -ra COMPREPLY -d '' < <(compgen -W "${completions[*]}" -- "$cur")
out=$(printf '%s\n' "${completions[@]}")
while IFS='' read -r comp; do COMPREPLY+=("$comp"); done < <(compgen -W "${out}" -- "$cur")
eval "printf '%s\n' ${COMPREPLY[*]}"
`

// inBash completes and evaluates words in a real bash, and returns the output and the files that
// it created.
func inBash(t *testing.T, words ...string) (lines, files []string) {
	t.Helper()
	// --norc is for a bash that believes it runs as a remote shell.
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"--norc", "-c", compgen, "bash"}, words...)...)
	cmd.Dir = t.TempDir()
	out, _ := cmd.Output()
	entries, err := os.ReadDir(cmd.Dir)
	assert.NilError(t, err)
	for _, entry := range entries {
		files = append(files, entry.Name())
	}
	return strings.Fields(string(out)), files
}

// hostileServer serves Jobs, and objects of every other kind, whose names, owners and containers
// are the words.
func hostileServer(t *testing.T, words []string) (url string) {
	t.Helper()
	jobs := &batchv1.JobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"}}
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Format: "name"}}}
	for _, word := range words {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{word}})
		for _, owner := range []string{word, string(delegation.Dispatch)} {
			job := fixture.New("team", word)
			job.Annotations = map[string]string{delegation.MirrorAnnotation: "c/n/m/u"}
			job.Spec.Template.Spec.Containers = []corev1.Container{{Name: word}}
			fixture.ManagedBy(owner)(job)
			jobs.Items = append(jobs.Items, *job)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = jobs
		if strings.Contains(r.Header.Get("Accept"), "as=Table") {
			answer = table
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestChoicesAreNotExpanded completes every argument and every flag while a hostile kubeconfig
// and API server provide the choices. A real bash executes none of them.
func TestChoicesAreNotExpanded(t *testing.T) {
	skipIfShort(t)
	for _, word := range []string{"a$(touch ran)", "a`touch ran`"} {
		_, files := inBash(t, word)
		assert.Equal(t, strings.Join(files, " "), "ran", "this test proves nothing: bash does not expand %s", word)
	}

	words := slices.Concat(expandedByShells, takenLiterally)
	url := hostileServer(t, words)
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "a"
	for _, word := range words {
		config.AuthInfos[word] = &clientcmdapi.AuthInfo{}
		config.Clusters[word] = &clientcmdapi.Cluster{Server: url}
		config.Contexts[word] = &clientcmdapi.Context{Cluster: word, AuthInfo: word, Namespace: "team"}
	}
	assert.NilError(t, clientcmd.WriteToFile(*config, hideKubeconfig(t)))

	var lines [][]string
	eachCommand(t, func(c *cobra.Command) {
		if !c.Runnable() {
			return
		}
		name := strings.Fields(c.CommandPath())[2:]
		add := func(words ...string) { lines = append(lines, slices.Concat(name, words)) }
		add("")
		add("a", "")
		add("job/")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" {
				add("a", "--"+f.Name, "")
				add("a", "--"+f.Name, "a,")
				add("a", "--"+f.Name, "$(touch ran),")
			}
		})
	})
	assert.Assert(t, len(lines) > 100)

	offered := map[string]bool{}
	for _, line := range lines {
		choices, _ := completed(t, line...)
		for _, choice := range names(choices) {
			offered[choice] = true
		}
	}
	for _, word := range takenLiterally {
		assert.Check(t, offered[word], "%q is not offered", word)
	}
	for _, word := range expandedByShells {
		// A list that begins with "a," continues with each word.
		assert.Check(t, !offered[word] && !offered["a,"+word], "%q is offered", word)
	}
	all := make([]string, 0, len(offered))
	for word := range offered {
		all = append(all, word)
	}
	slices.Sort(all)
	got, files := inBash(t, all...)
	assert.Equal(t, len(files), 0, "%q", files)
	assert.DeepEqual(t, slices.Compact(slices.Sorted(slices.Values(got))), all)
}

// TestDescriptionsAreKept: all descriptions of our own choices pass the same filter.
func TestDescriptionsAreKept(t *testing.T) {
	for _, words := range [][]string{{"explain", ""}, {"ls", "--kinds", ""}, {"ls", "--finding", ""}, {"help", ""}, {"completion", ""}} {
		choices, _ := completed(t, words...)
		assert.Assert(t, len(choices) > 4)
		for _, choice := range choices {
			_, description, _ := strings.Cut(choice, "\t")
			assert.Check(t, description != "", "%s lost its description", choice)
		}
	}
}
