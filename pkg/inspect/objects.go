package inspect

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectName is what an object is called on its cluster, in whatever version. An origin and
// a mirror that its owner did not move have it in common.
type ObjectName struct {
	schema.GroupKind
	types.NamespacedName
}

// NameOf is what a Job is called.
func NameOf(j *Job) ObjectName { return NameLike(j, j.Namespace, j.Name) }

// NameLike is the name of another object of a Job's kind.
func NameLike(j *Job, namespace, name string) ObjectName {
	return ObjectName{
		schema.FromAPIVersionAndKind(j.APIVersion, j.Kind).GroupKind(), types.NamespacedName{Namespace: namespace, Name: name},
	}
}

// objects finds the objects of a cluster; each map is nil while nobody has asked for it.
type objects struct {
	byUID  map[string]*Job
	byName map[ObjectName]*Job
	// parts are what an object controls, by the object's uid.
	parts map[string][]*Job
}

// isIndexed is whether anything was read that objects may be found among.
func (f *Facts) isIndexed() bool { return f != nil && f.index != nil }

// JobOf finds an object by its uid; nil if there is none among what was read, or no uid.
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

// JobNamed finds an object by its name; nil if there is none among what was read.
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

// PartsOf are what an object controls.
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
