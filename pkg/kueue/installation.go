package kueue

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// ConfigKey is the key of the ConfigMap under which Kueue's manifests keep the configuration.
const ConfigKey = "controller_manager_config.yaml"

// DefaultOrigin is the value of multiKueue.origin that Kueue uses if none is set.
const DefaultOrigin = "multikueue"

// Home is where Kueue runs on a cluster.
type Home struct {
	// Namespace has its controller, and the Secrets that MultiKueueClusters name.
	Namespace string
	// Deployment is the name of its controller.
	Deployment string
	// ConfigMap is the name of its configuration, "" if it has none.
	ConfigMap string
}

// HomeIn returns where Kueue's manifests and chart put it, in a namespace; "" is the default one
// (kueue: config/components/manager).
func HomeIn(namespace string) Home {
	return Home{Namespace: cmp.Or(namespace, Namespace), Deployment: "kueue-controller-manager", ConfigMap: "kueue-manager-config"}
}

// ShowLogs returns the command that shows the controller's log.
func (h Home) ShowLogs(context string) command.Command {
	return command.Kubectl(context, h.Namespace, "logs", "deployment/"+h.Deployment)
}

// Reconfigure returns the commands that change Kueue's configuration.
func (h Home) Reconfigure(context string) command.Prose {
	if h.ConfigMap == "" {
		return command.Kubectl(context, h.Namespace, "edit", "deployment", h.Deployment).Prose()
	}
	return command.Say("%s, and then %s", command.Kubectl(context, h.Namespace, "edit", "configmap", h.ConfigMap),
		command.Kubectl(context, h.Namespace, "rollout", "restart", "deployment", h.Deployment))
}

// WriteSecret returns the command that writes a worker's kubeconfig from a file to a Secret, whether
// or not the Secret exists.
func (h Home) WriteSecret(context, name, file string) command.Command {
	write := command.Kubectl(context, h.Namespace, "create", "secret", "generic", name, "--from-file=kubeconfig="+file, "--dry-run=client", "-o", "yaml")
	return command.Kubectl(context, "", "apply", "-f", "-").FedBy(write)
}

// Installation is how Kueue runs on a cluster.
type Installation struct {
	Home
	// Version is the tag of its image, such as "v0.19.2"; "" if the tag is no version.
	Version string
	// Replicas is how many Pods the Deployment wants, and Ready how many are ready.
	Replicas, Ready int32
	// Config is its configuration, nil if that could not be read.
	Config *Configuration
	// GateFlags are the feature gates set by --feature-gates.
	GateFlags map[string]bool
}

// Configuration is what is kept of Kueue's configuration (kueue: apis/config/v1beta2).
type Configuration struct {
	Integrations struct {
		Frameworks         []string `json:"frameworks"`
		ExternalFrameworks []string `json:"externalFrameworks"`
	} `json:"integrations"`
	MultiKueue *struct {
		GCInterval         *metav1.Duration `json:"gcInterval"`
		Origin             *string          `json:"origin"`
		ExternalFrameworks []struct {
			Name string `json:"name"`
		} `json:"externalFrameworks"`
	} `json:"multiKueue"`
	FeatureGates            map[string]bool `json:"featureGates"`
	ObjectRetentionPolicies *struct {
		Workloads *struct {
			AfterFinished *metav1.Duration `json:"afterFinished"`
		} `json:"workloads"`
	} `json:"objectRetentionPolicies"`
}

// multiKueueOnly returns multiKueue.externalFrameworks.
func (c *Configuration) multiKueueOnly() []string {
	if c.MultiKueue == nil {
		return nil
	}
	var names []string
	for _, framework := range c.MultiKueue.ExternalFrameworks {
		names = append(names, framework.Name)
	}
	return names
}

// ParseConfiguration returns Kueue's configuration in a text. It ignores unknown fields. It returns an
// error if the text is not a configuration of Kueue.
func ParseConfiguration(text string) (*Configuration, error) {
	var c struct {
		Kind          string `json:"kind"`
		Configuration `json:",inline"`
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		return nil, err
	}
	if c.Kind != "Configuration" {
		return nil, errors.New("it is not a configuration of Kueue")
	}
	return &c.Configuration, nil
}

// Gate returns whether a feature gate is on. known is false if it is not set,
// or if the configuration is unknown.
func (i *Installation) Gate(name string) (on, known bool) {
	if on, known = i.GateFlags[name]; known || i.Config == nil {
		return on, known
	}
	on, known = i.Config.FeatureGates[name]
	return on, known
}

// Frameworks returns the integrations that are enabled, sorted; known is false if the
// configuration is unknown. Without a list, Kueue enables batch/job alone.
func (i *Installation) Frameworks() (names []string, known bool) {
	if i.Config == nil {
		return nil, false
	}
	return i.frameworks(i.Config.Integrations.ExternalFrameworks), true
}

// Copied returns the frameworks whose objects MultiKueue may copy to workers, as Frameworks does: those with
// an adapter, and those of multiKueue.externalFrameworks, which no other list enables (kueue:
// cmd/kueue/main.go).
func (i *Installation) Copied() (names []string, known bool) {
	if i.Config == nil {
		return nil, false
	}
	names = slices.DeleteFunc(i.frameworks(i.Config.multiKueueOnly()), func(name string) bool { return slices.Contains(withoutAdapter(), name) })
	return names, true
}

// The fields of Kueue's configuration that enable frameworks.
const (
	frameworksField         = "integrations.frameworks"
	externalFrameworksField = "integrations.externalFrameworks"
)

// FieldOf returns the field of Kueue's configuration that enables the kind of a resource; "" if the
// configuration is unknown, or no field lists the kind.
func (i *Installation) FieldOf(resource schema.GroupResource) string {
	if i == nil || i.Config == nil {
		return ""
	}
	lists := func(name string) bool {
		group, plural, ok := frameworkResource(name)
		return ok && group == resource.Group && plural == resource.Resource
	}
	switch {
	case slices.ContainsFunc(i.Config.Integrations.Frameworks, lists):
		return frameworksField
	case slices.ContainsFunc(i.Config.Integrations.ExternalFrameworks, lists):
		return externalFrameworksField
	case slices.ContainsFunc(i.Config.multiKueueOnly(), lists):
		return "multiKueue.externalFrameworks"
	}
	return ""
}

// ByField returns frameworks by the field of Kueue's configuration that enables each, which depends on the
// form of its name: those outside Kueue are called Kind.version.group.
func ByField(frameworks []string) map[string][]string {
	fields := map[string][]string{}
	for _, name := range frameworks {
		field := frameworksField
		if !strings.Contains(name, "/") && strings.Count(name, ".") > 1 {
			field = externalFrameworksField
		}
		fields[field] = append(fields[field], name)
	}
	return fields
}

func (i *Installation) frameworks(external []string) []string {
	names := slices.Concat(i.Config.Integrations.Frameworks, external)
	if len(i.Config.Integrations.Frameworks) == 0 {
		names = append(names, "batch/job")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withoutAdapter returns the frameworks that MultiKueue does not copy (kueue: pkg/controller/jobs). It copies
// the Pods of Deployments, and rejects SparkApplications.
func withoutAdapter() []string {
	return []string{"deployment", "sparkoperator.k8s.io/sparkapplication"}
}

// Origin returns multiKueue.origin; known is false if the configuration is unknown.
func (i *Installation) Origin() (origin string, known bool) {
	switch {
	case i.Config == nil:
		return "", false
	case i.Config.MultiKueue == nil || i.Config.MultiKueue.Origin == nil || *i.Config.MultiKueue.Origin == "":
		return DefaultOrigin, true
	}
	return *i.Config.MultiKueue.Origin, true
}

// CollectsGarbage reports whether MultiKueue deletes its leftovers on
// workers.
func (i *Installation) CollectsGarbage() bool {
	return i.Config == nil || i.Config.MultiKueue == nil || i.Config.MultiKueue.GCInterval == nil || i.Config.MultiKueue.GCInterval.Duration > 0
}

// KeepsFinished returns for how long Kueue keeps finished Workloads; ok is false if it keeps
// them forever, or if the configuration is unknown.
func (i *Installation) KeepsFinished() (d time.Duration, ok bool) {
	if i.Config == nil || i.Config.ObjectRetentionPolicies == nil || i.Config.ObjectRetentionPolicies.Workloads == nil {
		return 0, false
	}
	after := i.Config.ObjectRetentionPolicies.Workloads.AfterFinished
	if after == nil {
		return 0, false
	}
	return after.Duration, true
}

// Minor returns the minor version, such as 19 for v0.19.2; ok is false if the version is
// unknown or has another major number.
func (i *Installation) Minor() (minor uint, ok bool) {
	parsed, err := version.ParseGeneric(i.Version)
	if err != nil || parsed.Major() != 0 {
		return 0, false
	}
	return parsed.Minor(), true
}

// versionPattern is a version at the beginning of a tag.
var versionPattern = regexp.MustCompile(`^v?\d+\.\d+\.\d+(-[\w.-]+)?`)

// ImageVersion returns the version in the tag of an image, "" if the tag is none.
func ImageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return versionPattern.FindString(tag)
}

// GatesIn returns the feature gates that the flags of a program set.
func GatesIn(args []string) map[string]bool {
	gates := map[string]bool{}
	for i, arg := range args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != "feature-gates" || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		for gate := range strings.SplitSeq(value, ",") {
			gate, on, ok := strings.Cut(strings.TrimSpace(gate), "=")
			if ok {
				gates[gate] = strings.EqualFold(on, "true")
			}
		}
	}
	return gates
}
