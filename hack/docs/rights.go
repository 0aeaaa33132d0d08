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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// rolesFolder is where the roles are, as the pages below docs name it.
const rolesFolder = "../rbac/"

// roles adds a file with the roles of each task, and the page that tells of them.
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

// rolesOf are the roles of a task: one for what is in namespaces, and others for the
// rest, as far as there is any.
func rolesOf(t rights.Task) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s.\n# Where: %s. Made of pkg/rights by make generate; docs/rbac.md tells more.\n", strings.ReplaceAll(t.Title, "`", ""), strings.ReplaceAll(t.Where, "`", ""))
	for i, how := range grants(t) {
		text, err := yaml.Marshal(how.role)
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

// grant is a role, and how somebody gets it.
type grant struct {
	role any
	// one and all are the commands that grant it in one namespace and in all; the same
	// where there is no difference.
	one, all command.Command
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
			everywhere := bind("clusterrolebinding", name, "--clusterrole="+name)
			granted = append(granted, grant{&rbacv1.ClusterRole{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, everywhere, everywhere})
		case rights.InKueue:
			meta.Kind = "Role"
			there := bind("rolebinding", name, "-n", kueue.Namespace, "--role="+name)
			granted = append(granted, grant{&rbacv1.Role{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kueue.Namespace}, Rules: rules}, there, there})
		default:
			granted = append(granted, grant{
				&rbacv1.ClusterRole{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
				bind("rolebinding", name, "-n", "NAMESPACE", "--clusterrole="+name), bind("clusterrolebinding", name, "--clusterrole="+name),
			})
		}
	}
	return granted
}

// rulesOf are the rules for the rights of a scope, as few as there can be.
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

// rightsPage is the page that tells who needs which rights.
func rightsPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Rights

What somebody has to be allowed to do, for which commands. Roles are in [rbac](../rbac); tests hold
them against the requests that the commands send (all but ` + "`exec`, `port-forward` and `dispatch-copy`" + `), and
run ` + "`ls`, `check`" + ` and the preflight of ` + "`dispatch`" + ` without each right in turn. Whoever lacks one that is optional
sees or tries less, and is told so.

Jobs of ` + "`batch`" + ` are meant. For other kinds, ` + "`kinds`" + ` tells their groups and plurals: put these beside
` + "`jobs`" + ` in the rules. Nobody needs to be told which servers there are, nor their versions and schemas: every
user may ask for these, by the role ` + "`system:discovery`" + `.

USER and NAMESPACE stand for yours. For a service account it is ` + "`--serviceaccount=NAMESPACE:NAME`" + ` instead
of ` + "`--user`" + `.

| role | what for | where |
|---|---|---|
`)
	for _, t := range rights.Tasks() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", t.Name, t.Name, t.Title, t.Where)
	}
	for _, t := range rights.Tasks() {
		fmt.Fprintf(&b, "\n## %s\n\n%s. Where: %s.", t.Name, t.Title, t.Where)
		if len(t.Needs) > 0 {
			fmt.Fprintf(&b, " It comes on top of `%s`.", strings.Join(t.Needs, "` and `"))
		}
		b.WriteString("\n\n| what | verbs | where | without it |\n|---|---|---|---|\n")
		for _, r := range t.Rights {
			fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s%s |\n", r.Resource, onlyNames(r), strings.Join(r.Verbs, ", "), scopeName(r.Scope), r.Without, needed(r))
		}
		apply := command.Of("kubectl", "apply", "-f", "rbac/"+t.Name+".yaml").Shell()
		ways := []way{{"In one namespace", func(g grant) command.Command { return g.one }}, {"In all", func(g grant) command.Command { return g.all }}}
		if !slices.ContainsFunc(t.Rights, func(r rights.Right) bool { return r.Scope == rights.InNamespaces }) {
			ways = []way{{"For all namespaces", ways[1].of}}
		}
		for _, way := range ways {
			fmt.Fprintf(&b, "\n%s:\n\n```console\n$ %s\n", way.title, apply)
			for _, g := range grants(t) {
				fmt.Fprintf(&b, "$ %s\n", way.of(g).Shell())
			}
			b.WriteString("```\n")
		}
	}
	return b.Bytes()
}

// way is how widely roles are granted.
type way struct {
	title string
	of    func(grant) command.Command
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
