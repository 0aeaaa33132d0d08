package inspect

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectName identifies an object on its cluster, in any version. An origin and its mirror share
// it, unless the owner gave the mirror another name or namespace.
type ObjectName struct {
	schema.GroupKind
	types.NamespacedName
}

// NameOf returns the name of a Job.
func NameOf(j *Job) ObjectName { return NameLike(j, j.Namespace, j.Name) }

// NameLike returns the name of another object of a Job's kind.
func NameLike(j *Job, namespace, name string) ObjectName {
	return ObjectName{
		schema.FromAPIVersionAndKind(j.APIVersion, j.Kind).GroupKind(), types.NamespacedName{Namespace: namespace, Name: name},
	}
}

// objects indexes the objects of a cluster. Each map is nil until it is needed.
type objects struct {
	byUID  map[string]*Job
	byName map[ObjectName]*Job
	// parts are the objects that an object controls, by its UID.
	parts map[string][]*Job
}

// isIndexed says whether f has an index to find objects in.
func (f *Facts) isIndexed() bool { return f != nil && f.index != nil }

// JobOf returns the object with this UID; nil if it was not read, or the UID is "".
func (f *Facts) JobOf(uid string) *Job {
	if !f.isIndexed() || uid == "" {
		return nil
	}
	x := &f.index.objects
	if x.byUID == nil {
		x.byUID = make(map[string]*Job, len(f.Jobs))
		for _, j := range f.Jobs {
			x.byUID[j.UID] = j
		}
	}
	return x.byUID[uid]
}

// JobNamed returns the object with this name; nil if it was not read.
func (f *Facts) JobNamed(name ObjectName) *Job {
	if !f.isIndexed() {
		return nil
	}
	x := &f.index.objects
	if x.byName == nil {
		x.byName = make(map[ObjectName]*Job, len(f.Jobs))
		for _, j := range f.Jobs {
			x.byName[NameOf(j)] = j
		}
	}
	return x.byName[name]
}

// PartsOf returns the objects that an object controls.
func (f *Facts) PartsOf(j *Job) []*Job {
	if !f.isIndexed() {
		return nil
	}
	x := &f.index.objects
	if x.parts == nil {
		x.parts = map[string][]*Job{}
		for _, part := range f.Jobs {
			if part.Controller != nil {
				uid := string(part.Controller.UID)
				x.parts[uid] = append(x.parts[uid], part)
			}
		}
	}
	return x.parts[j.UID]
}
