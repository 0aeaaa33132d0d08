package tutorial

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// checkAll is the command of the tutorial that an administrator runs. A user with the roles of rbac
// must see the same findings.
const checkAll = "kubectl jobs-managedby check -A --grace 0s"

// checkRights gives a user the roles look and look-secrets, and runs check with both, and with
// the first only.
func checkRights(s *stage) {
	t := s.t
	t.Helper()
	do := func(command string) string {
		t.Helper()
		output, code := s.run(command)
		assert.Equal(t, code, 0, "$ %s\n%s", command, output)
		return output
	}
	for _, name := range []string{rights.Look, rights.LookSecrets} {
		assert.NilError(t, os.WriteFile(filepath.Join(s.dir, name+".yaml"), []byte(read(t, "rbac/"+name+".yaml")), 0o644))
	}
	for _, cluster := range []string{"management", "worker-1", "worker-2"} {
		do("kubectl create -f look.yaml --context " + cluster)
		for _, role := range []string{"jobs-managedby-look", "jobs-managedby-look-cluster"} {
			do("kubectl create clusterrolebinding " + role + " --clusterrole=" + role + " --user=reader --context " + cluster)
		}
	}
	look := func() (list inspect.FindingList, output string) {
		t.Helper()
		output = do(checkAll + " --as reader -o json --fail-on none 2>/dev/null || [ $? = 4 ]")
		assert.NilError(t, json.Unmarshal([]byte(output), &list), output)
		return list, output
	}

	// Without the Secrets, the output says that they could not be read.
	list, output := look()
	assert.Assert(t, len(list.Errors) > 0, output)
	for _, e := range list.Errors {
		assert.Assert(t, strings.Contains(e.Message, "cannot read secrets"), output)
	}

	do("kubectl create -f look-secrets.yaml")
	do("kubectl create rolebinding reader -n kueue-system --role=jobs-managedby-look-secrets --user=reader")
	list, output = look()
	assert.Equal(t, len(list.Errors), 0, output)
	var codes []string
	for i := range list.Items {
		codes = append(codes, list.Items[i].Code)
	}
	// Their order depends on the age of the orphan, which becomes a warning after a minute.
	slices.Sort(codes)
	assert.DeepEqual(t, codes, []string{"JM013", "JM026", "JM029", "JM029", "JM029", "JM053", "JM102"})
	assert.Assert(t, strings.Contains(do("kubectl jobs-managedby trace train -n ml --as reader"), "4 Running"))
	assert.Assert(t, strings.Contains(do("kubectl jobs-managedby ls -A --all-contexts --as reader"), "  test-2  "))
}
