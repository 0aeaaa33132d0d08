package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Difference is a field whose value on a mirror differs from the origin's.
type Difference struct {
	// Context is the context of the mirror.
	Context string `json:"context"`
	// Field is the path of the field, such as "status.ready".
	Field string `json:"field"`
	// Origin is the value on the origin, as JSON; empty if it has none.
	Origin string `json:"origin"`
	// Mirror is the value on the mirror, as JSON; empty if it has none.
	Mirror string `json:"mirror"`
	// Lag is whether the value changed only seconds ago, so that its copy may not be due yet.
	Lag bool `json:"lag"`
}

// IsStatus reports whether a field of the status differs.
func (d Difference) IsStatus() bool {
	return d.Field == "status" || strings.HasPrefix(d.Field, "status.")
}

// Settling is how long a copy of a change may take. MultiKueue was seen to take 2.1 seconds at the
// median and up to 4.5 (docs/reference/multikueue.md#what-is-normal).
const Settling = 5 * time.Second

// Differences compares a mirror with its origin. It skips fields that delegation itself changes,
// and returns nil for the mirror of an older origin of the same name.
func (v *Inventory) Differences(origin *Job, m Mirror) []Difference {
	if origin == nil || !m.Current {
		return nil
	}
	mirror := m.Job
	d := comparison{context: mirror.Context}
	d.lag = v.age(mirror, v.lastChange(mirror)) < Settling
	switch {
	case origin.Row().IsJob():
		d.compareJobStatus(origin, mirror)
	case !origin.Row().NoStatusSync:
		d.compareAnyStatus(origin, mirror)
	}

	d.lag = v.age(origin, origin.SpecWrittenAt) < Settling || d.lag && origin.Suspended != mirror.Suspended
	d.compare("spec.suspend", origin.Suspended, mirror.Suspended)
	d.lag = v.age(origin, origin.SpecWrittenAt) < Settling
	d.compareSpec(origin, mirror)
	return d.found
}

// lastChange returns the latest known change of a mirror's status. A change of its Pods is none until the
// Job's controller writes it there: Pods date only a status without managedFields.
func (v *Inventory) lastChange(mirror *Job) *metav1.Time {
	latest := mirror.CreationTimestamp
	consider := func(t *metav1.Time) {
		if t != nil && t.After(latest.Time) {
			latest = *t
		}
	}
	consider(mirror.StatusWrittenAt)
	consider(mirror.StartTime)
	consider(mirror.FinishedTime)
	consider(mirror.CompletionTime)
	for i := range mirror.Conditions() {
		consider(&mirror.Conditions()[i].LastTransitionTime)
	}
	if f := v.Facts(mirror.Context); f != nil && mirror.StatusWrittenAt == nil {
		for _, p := range f.PodsOf(mirror) {
			consider(&p.Changed)
		}
	}
	return &latest
}

func (v *Inventory) age(j *Job, t *metav1.Time) time.Duration {
	if t == nil {
		return v.Age(j.Context, time.Time{})
	}
	return v.Age(j.Context, t.Time)
}

type comparison struct {
	context string
	lag     bool
	found   []Difference
}

func (c *comparison) compare(field string, origin, mirror any) {
	a, b := text(origin), text(mirror)
	// An absent count of Pods means 0.
	if a == b || strings.HasPrefix(field, "status.") && (a == "0" && b == "" || a == "" && b == "0") {
		return
	}
	c.found = append(c.found, Difference{Context: c.context, Field: field, Origin: a, Mirror: b, Lag: c.lag})
}

// compareJobStatus compares the status of batch/v1 Jobs.
func (c *comparison) compareJobStatus(origin, mirror *Job) {
	c.compare("status.active", origin.Active, mirror.Active)
	c.compare("status.ready", count(origin.Ready), count(mirror.Ready))
	c.compare("status.succeeded", origin.Succeeded, mirror.Succeeded)
	c.compare("status.failed", origin.Failed, mirror.Failed)
	c.compare("status.startTime", stamp(origin.StartTime), stamp(mirror.StartTime))
	c.compare("status.completionTime", stamp(origin.CompletionTime), stamp(mirror.CompletionTime))
	c.compareStatus(origin, mirror)
}

// compareAnyStatus compares the status of objects of other kinds, which is copied as a whole.
// Without the whole objects, it compares only states that an origin gets from its mirror alone.
func (c *comparison) compareAnyStatus(origin, mirror *Job) {
	if origin.Object != nil && mirror.Object != nil {
		c.walk("status", origin.Object.Object["status"], mirror.Object.Object["status"], nil)
		return
	}
	came := func(s delegation.Status) any {
		if s == delegation.Running || s.IsFinished() {
			return string(s)
		}
		return nil
	}
	c.compare("status", came(origin.Status), came(mirror.Status))
}

// compareStatus compares the fields that only whole objects have.
func (c *comparison) compareStatus(origin, mirror *Job) {
	if origin.Object == nil || mirror.Object == nil {
		return
	}
	a, _ := origin.Object.Object["status"].(map[string]any)
	b, _ := mirror.Object.Object["status"].(map[string]any)
	for _, field := range []string{"completedIndexes", "failedIndexes", "terminating"} {
		c.compare("status."+field, a[field], b[field])
	}
	states := func(j *Job) map[string]string {
		byType := map[string]string{}
		for _, condition := range j.Conditions() {
			byType[condition.Type] = string(condition.Status)
		}
		return byType
	}
	x, y := states(origin), states(mirror)
	for _, name := range slices.Sorted(maps.Keys(x)) {
		c.compare("status.conditions["+name+"]", x[name], y[name])
	}
	for _, name := range slices.Sorted(maps.Keys(y)) {
		if _, both := x[name]; !both && y[name] != string(metav1.ConditionFalse) {
			c.compare("status.conditions["+name+"]", "", y[name])
		}
	}
}

// expected returns the fields of a spec that differ between an origin and its mirror in a healthy
// fleet: those that delegation removes, that the server fills in, and that Kueue adds on either
// side (docs/reference/multikueue.md#adapters).
func expected(origin *Job) sets.Set[string] {
	kind := origin.Row()
	same := sets.New(
		strings.Join(kind.ManagedBy, "."), strings.Join(kind.TTL(), "."), "spec.runPolicy.suspend",
		"spec.managedBy", "spec.selector", "spec.manualSelector", "spec.suspend", "spec.ttlSecondsAfterFinished",
		"spec.template.metadata", "spec.template.spec.nodeSelector", "spec.template.spec.tolerations",
		"spec.template.spec.schedulingGates",
		// Kueue's assignment of an AppWrapper's Pods (appwrapper: api/v1beta2, AppWrapperPodSetInfo).
		"spec.components.podSetInfos",
	)
	for _, path := range kind.LocalFields {
		same.Insert(strings.Join(path, "."))
	}
	if path := kind.RayCluster; len(path) > 0 {
		// Kueue up to 0.19 suspends the cluster of a RayService, not the service.
		same.Insert(strings.Join(path, ".") + ".suspend")
		if isScaledThere(origin) {
			groups := strings.Join(path, ".") + ".workerGroupSpecs."
			same.Insert(groups+"replicas", groups+"scaleStrategy")
		}
	}
	if kind.IsUnmanaged() {
		// These fields of a Pod gate it, and say where it is scheduled.
		same.Insert("spec.schedulingGates", "spec.nodeName", "spec.nodeSelector", "spec.tolerations")
	}
	return same
}

// isScaledThere reports whether Ray's own autoscaler changes the size of an object, which it does on
// the worker only (kueue: KEP-13243, from 0.20 on).
func isScaledThere(origin *Job) bool {
	scales, _, _ := unstructured.NestedBool(origin.Object.Object, append(slices.Clone(origin.Row().RayCluster), "enableInTreeAutoscaling")...)
	return scales && origin.IsElastic()
}

func (c *comparison) compareSpec(origin, mirror *Job) {
	if origin.Object == nil || mirror.Object == nil {
		c.compare("spec.parallelism", count(origin.Parallelism), count(mirror.Parallelism))
		c.compare("spec.completions", count(origin.Completions), count(mirror.Completions))
		return
	}
	c.walk("spec", origin.Object.Object["spec"], mirror.Object.Object["spec"], expected(origin))
}

// walk descends both trees and compares their leaves.
func (c *comparison) walk(path string, a, b any, without sets.Set[string]) {
	if without.Has(inAnyElement(path)) {
		return
	}
	x, isMap := a.(map[string]any)
	y, bothMaps := b.(map[string]any)
	if isMap && bothMaps {
		c.walkMaps(path, x, y, without)
		return
	}
	a, b = withoutKueues(a), withoutKueues(b)
	if b == nil && isZero(a) || a == nil && isEmpty(b) {
		// MultiKueue copies through Go types, which omit zero values such as maxRestarts of a
		// JobSet, and its patches omit empty structs, such as status.rayJobInfo of a RayJob.
		return
	}
	l, isList := a.([]any)
	m, bothLists := b.([]any)
	if isList && bothLists && len(l) == len(m) {
		for i := range l {
			c.walk(fmt.Sprintf("%s[%s]", path, elementName(l[i], i)), l[i], m[i], without)
		}
		return
	}
	c.compare(path, a, b)
}

// walkMaps compares the values of two maps by key, without Kueue's own labels and annotations.
func (c *comparison) walkMaps(path string, a, b map[string]any, without sets.Set[string]) {
	isMeta := strings.HasSuffix(path, ".metadata.labels") || strings.HasSuffix(path, ".metadata.annotations")
	for _, key := range sets.List(sets.KeySet(a).Union(sets.KeySet(b))) {
		if !isMeta || !delegation.IsKueueTemplateKey(key) {
			c.walk(path+"."+key, a[key], b[key], without)
		}
	}
}

// listElement matches the name of a list element in a path.
var listElement = regexp.MustCompile(`\[[^]]*\]`)

// inAnyElement removes the names of list elements from a path.
func inAnyElement(path string) string {
	return listElement.ReplaceAllString(path, "")
}

// withoutKueues removes the elements of a list that Kueue adds on either cluster and marks as its
// own: spec.runtimePatches of a TrainJob (kueue: pkg/controller/jobs/trainjob). It returns nil if
// none is left.
func withoutKueues(value any) any {
	list, isList := value.([]any)
	isKueues := func(element any) bool {
		o, _ := element.(map[string]any)
		return o["manager"] == "kueue.x-k8s.io/manager"
	}
	if !isList || !slices.ContainsFunc(list, isKueues) {
		return value
	}
	if list = slices.DeleteFunc(slices.Clone(list), isKueues); len(list) == 0 {
		return nil
	}
	return list
}

// isZero reports whether a value is 0, false, "" or empty.
func isZero(value any) bool {
	return isEmpty(value) || value != nil && reflect.ValueOf(value).IsZero()
}

// isEmpty reports whether a value is an object or a list without elements.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// elementName returns the name of a list element, or its index if it has none.
func elementName(element any, i int) string {
	if o, ok := element.(map[string]any); ok {
		if name, ok := o["name"].(string); ok {
			return name
		}
	}
	return fmt.Sprint(i)
}

// text returns a value as JSON, but strings without quotes.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

func count(n *int32) any {
	if n == nil {
		return nil
	}
	return *n
}

func stamp(t *metav1.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}
