package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// rolesFolder is the directory of the roles, relative to docs.
const rolesFolder = "../rbac/"

// roles adds a file with the roles of each task, and their page.
func roles(files map[string][]byte) error {
	for _, t := range rights.Tasks() {
		text, err := rolesOf(t)
		if err != nil {
			return err
		}
		files[rolesFolder+t.Name+".yaml"] = text
	}
	files["rbac.md"] = rightsPage()
	return nil
}

func roleName(t rights.Task) string { return "jobs-managedby-" + t.Name }

// rolesOf returns the roles of a task: one for namespaced resources, and others for the rest, if
// there is any.
func rolesOf(t rights.Task) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s.\n# Clusters: %s. Generated from pkg/rights by make generate; see docs/rbac.md.\n", strings.ReplaceAll(t.Title, "`", ""), strings.ReplaceAll(t.Where, "`", ""))
	for i, g := range grants(t) {
		text, err := yaml.Marshal(g.role)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

// grant is a role with the commands that grant it.
type grant struct {
	role any
	// inOne and inAll are the commands that grant it in one namespace and in all. They are equal
	// for a role that is not granted by namespace.
	inOne, inAll command.Command
}

func grants(t rights.Task) (granted []grant) {
	bind := func(words ...string) command.Command {
		return command.Of("kubectl", "create").With(words...).With("--user=USER")
	}
	for _, scope := range []rights.Scope{rights.InNamespaces, rights.InCluster, rights.InKueue} {
		rules := rulesOf(t, scope)
		if len(rules) == 0 {
			continue
		}
		name := roleName(t)
		meta := metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}
		switch scope {
		case rights.InCluster:
			name += "-cluster"
			binding := bind("clusterrolebinding", name, "--clusterrole="+name)
			granted = append(granted, grant{&rbacv1.ClusterRole{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, binding, binding})
		case rights.InKueue:
			meta.Kind = "Role"
			binding := bind("rolebinding", name, "-n", kueue.Namespace, "--role="+name)
			granted = append(granted, grant{&rbacv1.Role{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kueue.Namespace}, Rules: rules}, binding, binding})
		default:
			granted = append(granted, grant{
				&rbacv1.ClusterRole{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
				bind("rolebinding", name, "-n", "NAMESPACE", "--clusterrole="+name), bind("clusterrolebinding", name, "--clusterrole="+name),
			})
		}
	}
	return granted
}

// rulesOf returns the smallest set of rules for the rights of a scope.
func rulesOf(t rights.Task, scope rights.Scope) (rules []rbacv1.PolicyRule) {
	for _, r := range t.Rights {
		if r.Scope != scope {
			continue
		}
		i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.Resource.Group && slices.Equal(rule.ResourceNames, r.Names) &&
				(slices.Equal(rule.Verbs, r.Verbs) || slices.Equal(rule.Resources, []string{r.Resource.Resource}))
		})
		if i < 0 {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.Resource.Group}, Resources: []string{r.Resource.Resource}, ResourceNames: r.Names, Verbs: slices.Clone(r.Verbs)})
			continue
		}
		if !slices.Contains(rules[i].Resources, r.Resource.Resource) {
			rules[i].Resources = append(rules[i].Resources, r.Resource.Resource)
		}
		for _, verb := range r.Verbs {
			if !slices.Contains(rules[i].Verbs, verb) {
				rules[i].Verbs = append(rules[i].Verbs, verb)
			}
		}
	}
	return rules
}

// rightsPage returns the page of roles.
func rightsPage() []byte {
	var b bytes.Buffer
	b.WriteString(`<!-- Written by go run ./hack/docs from pkg/rights; do not edit. -->

# Give people rights

For ` + "`ls`, `kinds`, `wait`" + ` and ` + "`trace NAME`" + `, [look](#look) is enough. On managers of MultiKueue, ` + "`trace`" + ` without a name,
` + "`trace -f`, `check`" + ` and ` + "`queues`" + ` also need [look-secrets](#look-secrets). Without it, they say what they did
not check, and exit with 4. ` + "`queues -n`" + ` needs it only with ` + "`--pending`" + `, for Jobs that wait for a worker. For ` + "`mcp`" + `, see
[MCP](mcp.md#what-limits-it). This page lists the rights that each command needs. The directory [rbac](../rbac) has a
role for each task. A command fails without the rights that are marked as *needed*. Without one of the others, it does
less, and says what it did not check.

- **The commands below** run in a clone of this repository, on each of the named clusters. Replace USER and NAMESPACE.
  For a ServiceAccount, use ` + "`--serviceaccount=NAMESPACE:NAME`" + ` instead of ` + "`--user`" + `. Replace kueue-system if Kueue
  has another namespace, also in the file.
- **Other kinds than Job**: ` + "`kubectl jobs-managedby kinds`" + ` prints their groups and plurals. Add them next to
  ` + "`jobs`" + ` to the rules.
- **Discovery** needs nothing: every user has the role ` + "`system:discovery`" + `.

Tests compare the roles with the requests that the commands send, except for ` + "`exec`, `port-forward`, `dispatch-copy`" + `
and ` + "`dispatch-source`" + `. They also run ` + "`ls`, `check`" + ` and the checks of ` + "`dispatch`" + ` without each right in turn.

| role | task | clusters |
|---|---|---|
`)
	for _, t := range rights.Tasks() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", t.Name, t.Name, t.Title, t.Where)
	}
	for _, t := range rights.Tasks() {
		fmt.Fprintf(&b, "\n## %s\n\n%s. Clusters: %s.", t.Name, t.Title, t.Where)
		if needs := needsOf(t); len(needs) > 0 {
			fmt.Fprintf(&b, " Also grant %s.", roleLinks(needs))
		}
		if t.Name == rights.TraceFile {
			b.WriteString(" On managers of MultiKueue, also grant [`look-secrets`](#look-secrets).")
		}
		b.WriteString("\n\n| resource | verbs | scope | without it |\n|---|---|---|---|\n")
		for _, r := range t.Rights {
			fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s%s |\n", kubecontext.ResourceName(r.Resource), onlyNames(r), strings.Join(r.Verbs, ", "), scopeName(r.Scope), r.Without, needed(r))
		}
		apply := command.Of("kubectl", "apply", "-f", "rbac/"+t.Name+".yaml").Shell()
		scopes := []grantScope{{"In one namespace", func(g grant) command.Command { return g.inOne }}, {"In all namespaces", func(g grant) command.Command { return g.inAll }}}
		if !slices.ContainsFunc(t.Rights, func(r rights.Right) bool { return r.Scope == rights.InNamespaces }) {
			title := "In Kueue's namespace"
			if slices.ContainsFunc(t.Rights, func(r rights.Right) bool { return r.Scope == rights.InCluster }) {
				title = "In the cluster and in Kueue's namespace"
			}
			scopes = []grantScope{{title, scopes[1].commandOf}}
		}
		for _, scope := range scopes {
			fmt.Fprintf(&b, "\n%s:\n\n```sh\n%s\n", scope.title, apply)
			for _, g := range grants(t) {
				fmt.Fprintf(&b, "%s\n", scope.commandOf(g).Shell())
			}
			b.WriteString("```\n")
		}
	}
	return b.Bytes()
}

// needsOf returns the roles that a task needs besides its own, the most general first.
func needsOf(t rights.Task) []string {
	var all []string
	for _, name := range t.Needs {
		need, _ := rights.Find(name)
		for _, role := range append(needsOf(need), name) {
			if !slices.Contains(all, role) {
				all = append(all, role)
			}
		}
	}
	return all
}

// roleLinks returns links to the sections of roles.
func roleLinks(names []string) string {
	var links []string
	for _, name := range names {
		links = append(links, "[`"+name+"`](#"+name+")")
	}
	return strings.Join(links, " and ")
}

// grantScope is a scope in which roles are granted, with the command that grants one.
type grantScope struct {
	title     string
	commandOf func(grant) command.Command
}

func onlyNames(r rights.Right) string {
	if len(r.Names) == 0 {
		return ""
	}
	return " " + strings.Join(r.Names, ", ")
}

func needed(r rights.Right) string {
	if r.IsOptional {
		return ""
	}
	return " (needed)"
}

func scopeName(s rights.Scope) string {
	return cmp.Or(map[rights.Scope]string{rights.InCluster: "the cluster", rights.InKueue: "`" + kueue.Namespace + "`"}[s], "the Jobs' namespaces")
}
